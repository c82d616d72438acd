import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { commandLine } from "../../scripts/command-line.mjs";
import { freePort } from "../reference-server/free-port.js";
import { audit, balances, moneyUnderWay, sum } from "./audit.js";
import { startBadNetwork } from "./bad-network.js";
import { Bank } from "./bank.js";
import { HardLife } from "./hard-life.js";
import { isAcross, planTransfers } from "./plan.js";
import { seeded } from "./random.js";
import { isKept, rowsOf } from "./report.js";
import { LiveLine, table } from "./screen.js";
import { Troubles } from "./troubles.js";
import { Weather } from "./weather.js";

const usage = `npm run demo -- [options]

Transfers through a network that loses, repeats and cuts, by a worker that is killed again and again, to a bank on several
databases whose server is killed, and one of which crashes. Fails unless every transfer happened exactly once.

  --transfers 200
  --shards 2        databases; also as SHARDS
  --seed 1          others for other accidents
  --new-keys        what happens without one key for every attempt`;

const { values: options } = commandLine(usage, {
  options: {
    transfers: { type: "string", default: "200" },
    shards: { type: "string", default: process.env["SHARDS"] || "2" },
    seed: { type: "string", default: "1" },
    "new-keys": { type: "boolean", default: false },
  },
});
const shards = Number(options.shards);
const transfers = planTransfers(Number(options.transfers), shards);
const program = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/** After so many milliseconds something must have gone wrong. */
const PATIENCE = 180_000;
/** How long a shard is away, ms. */
const AWAY = 2_000;
/** What is to be ended at the end, the latest first. */
const endings: (() => unknown)[] = [];
const stopped = new AbortController();

async function main(): Promise<boolean> {
  const startedAt = performance.now();
  console.log(`starting Postgres (${shards}), the server, and bad networks around it`);
  heedSignals();
  const random = seeded(Number(options.seed));
  const [weather, inside] = [new Weather(random), new Weather(random)];
  const port = await freePort();
  const upstream = `http://127.0.0.1:${port}`;
  const network = await startBadNetwork({ upstream, ...weather });
  endings.push(() => network.close());
  const between = await startBadNetwork({ upstream, ...inside });
  endings.push(() => between.close());
  const bank = await Bank.open(
    { program: program("server.js"), shards, ports: [port], creditUrl: between.url },
    endings,
  );
  // The embedded Postgres brings handlers of its own, which would take the database away before the server is done.
  heedSignals();
  const troubles = new Troubles(bank, [
    { after: transfers.length / 4, what: (it) => it.restartServer() },
    // The server that comes then has to do without that shard.
    { after: transfers.length / 2, what: (it) => it.takeAway(shards - 1, AWAY, () => it.restartServer()) },
  ]);
  endings.push(() => troubles.callOff());
  const directory = await mkdtemp(join(tmpdir(), "samekey-demo-"));
  endings.push(() => rm(directory, { recursive: true, force: true }));

  const before = await balances(bank.pools);
  const signal = AbortSignal.any([stopped.signal, AbortSignal.timeout(PATIENCE)]);
  const line = new LiveLine();
  const keys = options["new-keys"] ? "new" : "same";
  const life = new HardLife({
    program: program("worker.js"),
    args: [network.url, join(directory, "worker.sqlite"), options.transfers, options.shards, keys],
    random,
    signal,
    onProgress: () => {
      const { size } = life.settled;
      const happened = `${life.kills} kills · ${bank.kills} of the server · ${bank.outages} of a shard`;
      line.update(
        size / transfers.length,
        `${size} of ${transfers.length} transfers · ${happened} · ${weather.attempts} attempts`,
      );
      troubles.update(size);
    },
  });
  const counts = await life.run();
  await troubles.over();
  const underWay = await drained(bank, line, signal);
  line.end();

  const after = await balances(bank.pools);
  const findings = {
    transfers: transfers.length,
    across: transfers.filter((transfer) => isAcross(transfer, shards)).length,
    counts,
    life,
    bank,
    audit: await audit(bank.pools, transfers, before),
    underWay,
    balanceBefore: sum(before.values()),
    balanceAfter: sum(after.values()),
    weather,
    inside,
    undelivered: network.undelivered,
  };
  console.log(`\n${table(rowsOf(findings))}\n`);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  const kept = isKept(findings);
  console.log(kept ? `every transfer exactly once (${seconds} s)` : `THE PROMISE IS BROKEN (${seconds} s)`);
  return kept;
}

/** Waits until nothing is under way between the shards any more, or too much time is over. Resolves to what is left. */
async function drained(bank: Bank, line: LiveLine, signal: AbortSignal): Promise<number> {
  for (;;) {
    const left = await moneyUnderWay(bank.pools);
    if (left === 0 || signal.aborted) return left;
    line.update(1, `all transfers made · ${left.toLocaleString("en")} under way between the shards`);
    await sleep(100);
  }
}

function heedSignals(): void {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.removeAllListeners(signal).on(signal, () => stopped.abort(new Error(`stopped by ${signal}`)));
  }
}

let kept = false;
try {
  kept = await main();
} catch (error) {
  console.error(stopped.signal.aborted ? `\n${stopped.signal.reason.message}` : error);
} finally {
  for (const end of endings.reverse()) await end();
}
process.exit(kept ? 0 : 1);
