import { randomUUID } from "node:crypto";
import pg from "pg";
import { v7 } from "uuid";
import { atMost, byTurns, median, ms, ratio, times } from "../support/figures.mjs";
import * as bare from "./contestants/bare.mjs";
import * as dbos from "./contestants/dbos.mjs";
import * as nodeIdempotency from "./contestants/node-idempotency.mjs";
import * as samekey from "./contestants/samekey.mjs";
import * as textbook from "./contestants/textbook.mjs";
import { createBank, randomTransfer } from "./transfer.mjs";

const MANY = 64;
const AT_ONCE = 16;

const contestants = {
  "bare transaction": (options) => bare.open(options),
  "bare transaction, pipelined": (options) => bare.open({ ...options, pipeline: true }),
  samekey: (options) => samekey.open(options),
  "samekey, pipelined": (options) => samekey.open({ ...options, pipeline: true }),
  "the textbook shape": (options) => textbook.open(options),
  "@node-idempotency/core": (options) => nodeIdempotency.open(options),
  DBOS: (options) => dbos.open(options),
};
/** What each is measured beside: the same driver, used the same way. */
const limitOf = (name) => (name.endsWith("pipelined") ? "bare transaction, pipelined" : "bare transaction");
const isBare = (name) => name.startsWith("bare");

/** Yields the figures part by part: `[name, rows]`. */
export async function* measure({ quick, dist, url }) {
  const admin = new pg.Pool({ connectionString: url, max: 1 });
  await createBank((text) => admin.query(text));

  for (const connections of [1, MANY]) {
    const opened = {};
    for (const [name, open] of Object.entries(contestants)) opened[name] = await open({ url, connections, dist });
    yield [plural(connections), await throughput(opened, connections, quick)];
    if (connections === MANY) yield ["contention", await contention(opened, admin, quick)];
    for (const { close } of Object.values(opened)) await close();
  }
  await admin.end();
}

/** Fresh and replayed keys: what one operation takes, beside the bare transaction. */
async function throughput(opened, connections, quick) {
  const operations = connections === 1 ? 50 : 320;
  const used = Object.fromEntries(Object.keys(opened).map((name) => [name, []]));
  /** ms per operation, while as many are under way as there are connections. */
  const timed = async (act) => {
    let left = operations;
    const lane = async () => {
      while (left-- > 0) await act();
    };
    const started = performance.now();
    await Promise.all(Array.from({ length: connections }, lane));
    return (performance.now() - started) / operations;
  };
  const expect = (wanted, got) => {
    if (got !== wanted) throw new Error(`expected ${wanted}, got ${got}`);
  };
  const turns = {};
  for (const [name, { run }] of Object.entries(opened)) {
    turns[`${name}: new`] = () =>
      timed(async () => {
        const [key, body] = [v7(), randomTransfer()];
        expect("executed", await run(key, body));
        used[name].push([key, body]);
      });
    if (isBare(name)) continue;
    turns[`${name}: replay`] = () =>
      timed(async () => {
        const [key, body] = used[name][Math.floor(Math.random() * used[name].length)];
        expect("replayed", await run(key, body));
      });
  }
  await byTurns(quick ? 1 : 3, turns);
  const samples = await byTurns(quick ? 5 : 25, turns);

  const budgets = connections === 1 ? { new: 1.5, replay: 0.6 } : { new: 1.75, replay: 0.6 };
  return Object.keys(opened)
    .filter((name) => !isBare(name))
    .flatMap((name) =>
      ["new", "replay"].map((kind) => {
        const [ours, theirs] = [samples[`${name}: ${kind}`], samples[`${limitOf(name)}: new`]];
        const share = ratio(ours, theirs);
        return {
          what: `${name}: ${kind === "new" ? "a new key" : "a replay"}, ${plural(connections)}`,
          measured: ms(median(ours)),
          limit: `${limitOf(name)} ${ms(median(theirs))}`,
          ratio: times(share),
          ...(name.startsWith("samekey") ? atMost(share.median, budgets[kind], " ×") : {}),
        };
      }),
    );
}

/** Sixteen at once on one key, new or completed: what they are told, and how often it was done. */
async function contention(opened, admin, quick) {
  const rounds = quick ? 5 : 40;
  const rows = [];
  for (const name of Object.keys(opened).filter((it) => !isBare(it) && !it.endsWith("pipelined"))) {
    const { run } = opened[name];
    const told = { new: {}, completed: {} };
    const keys = [];
    for (let round = 0; round < rounds; round++) {
      const [key, body] = [randomUUID(), randomTransfer()];
      keys.push(key);
      for (const answers of [told.new, told.completed]) {
        const all = await Promise.allSettled(Array.from({ length: AT_ONCE }, () => run(key, body)));
        for (const { value = "failed" } of all) answers[value] = (answers[value] ?? 0) + 1;
      }
    }
    const { rows: counted } = await admin.query(
      "SELECT count(*)::int AS n FROM (SELECT FROM ledger_entries WHERE key = ANY($1) GROUP BY key HAVING count(*) <> 2) AS k",
      [keys],
    );
    const list = (answers) => Object.entries(answers).map(([word, n]) => `${n} ${word}`).join(", "); // biome-ignore format: one thought
    const falseBusy = told.completed.in_progress ?? 0;
    rows.push({
      what: `${name}: ${AT_ONCE} at once on one key, ${rounds} times`,
      measured: `new: ${list(told.new)}; then completed: ${list(told.completed)}; keys not applied exactly once: ${counted[0].n}`,
      ...(name === "samekey" ? { budget: "one effect, no false 409", met: falseBusy + counted[0].n === 0 } : {}),
    });
  }
  return rows;
}

const plural = (n) => (n === 1 ? "1 connection" : `${n} connections`);
