/**
 * The bank test: random transfers over several shards, while workers, servers and databases are killed and every
 * network between them is bad. `BANK_SEEDS=7,8,9 BANK_TRANSFERS=1000` for other and longer ones.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createSdk, type State } from "samekey";
import { sqliteStore } from "samekey/stores/sqlite";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { startBadNetwork } from "../../examples/demo/bad-network.js";
import { Bank } from "../../examples/demo/bank.js";
import { HardLife } from "../../examples/demo/hard-life.js";
import { type Random, seeded } from "../../examples/demo/random.js";
import { type Trouble, Troubles } from "../../examples/demo/troubles.js";
import { Weather } from "../../examples/demo/weather.js";
import { freePort } from "../../examples/reference-server/free-port.js";
import { shardOf } from "../../examples/reference-server/routing.js";
import { type Bundle, bundle } from "../support/bundle.js";
import { FUNDS, faultsIn, readBooks, underWay } from "./bank-books.js";
import { exists, numberOf, randomTransfers, type Transfer } from "./bank-plan.js";

const { BANK_SEEDS = "1", BANK_TRANSFERS = "50" } = process.env;
const seeds = BANK_SEEDS.split(",").map(Number);
const count = Number(BANK_TRANSFERS);
const patience = { timeout: 60_000, interval: 100 };
const TOTAL = 100 * FUNDS;

let programs: Bundle[];
const endings: (() => unknown)[] = [];

beforeAll(async () => {
  const sources = [new URL("../../examples/reference-server/server.ts", import.meta.url), "bank-worker.ts"];
  programs = await Promise.all(sources.map((source) => bundle(new URL(source, import.meta.url))));
});

afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

afterAll(() => {
  for (const program of programs) program.remove();
});

describe.each(seeds)("seed %d", (seed) => {
  const shards = 2 + (seed % 3);

  it(`keeps all money on ${shards} shards, and makes every transfer once`, async () => {
    const random = seeded(seed);
    const directory = await mkdtemp(join(tmpdir(), "samekey-bank-"));
    endings.push(() => rm(directory, { recursive: true, force: true }));
    const [server = "", worker = ""] = programs.map(({ path }) => path);

    const ports = await Promise.all([freePort(), freePort()]);
    const upstream = (): string => `http://127.0.0.1:${pick(random, ports)}`;
    const outside = await startBadNetwork({ upstream, ...new Weather(random) });
    const inside = await startBadNetwork({ upstream, ...new Weather(random) });
    endings.push(() => Promise.all([outside.close(), inside.close()]));
    const bank = await Bank.open({ program: server, shards, ports, creditUrl: inside.url, fsync: false }, endings);

    const [done, stop] = [new AbortController(), new AbortController()];
    endings.push(
      () => stop.abort(),
      () => done.abort(),
    );
    const path = join(directory, "worker.sqlite");
    const troubles = new Troubles(bank, troublesFor(random, shards));
    endings.push(() => troubles.callOff());
    const life = new HardLife({
      program: worker,
      args: [outside.url, path, String(seed), String(count)],
      random,
      span: [2_000, 5_000],
      onProgress: () => troubles.update(life.settled.size),
      signal: AbortSignal.any([stop.signal, AbortSignal.timeout(600_000)]),
    });
    const [looks] = await Promise.all([
      watch(bank, done.signal),
      life
        .run()
        .then(() => troubles.over())
        .then(() => done.abort()),
    ]);
    expect(looks).toBeGreaterThan(0);

    await vi.waitFor(async () => {
      const books = await readBooks(bank.pools);
      expect(books.credits.filter(({ state }) => !["succeeded", "rejected"].includes(state))).toEqual([]);
      expect(underWay(books)).toBe(0);
    }, patience);

    const books = await readBooks(bank.pools);
    expect(faultsIn(books)).toEqual([]);
    expect(books.balance).toBe(TOTAL);
    const { told, records } = await outcomes(path);
    expect(books.answers).toBe(records);
    const found = new Map<number, string[]>();
    for (const { kind, account, amount } of books.entries) {
      found.set(numberOf(amount), [...(found.get(numberOf(amount)) ?? []), `${kind} ${account}`].sort());
    }
    const wanted = new Map<number, string[]>();
    for (const [number, transfer] of randomTransfers(seed, count).entries()) {
      if (told.get(number) === "succeeded") wanted.set(number, sidesOf(transfer, shards));
      else expect(told.get(number)).toBe("rejected");
    }
    expect(found).toEqual(wanted);
    // Otherwise it has shown little.
    expect(Math.min(bank.kills, bank.outages, life.kills)).toBeGreaterThan(0);
    expect(books.credits.map(({ state }) => state)).toEqual(expect.arrayContaining(["succeeded", "rejected"]));
    expect([...told.values()].filter((state) => state === "succeeded").length).toBeGreaterThan(count / 2);
  }, 600_000);
});

/** Every few transfers a server is killed, or a database, or both. */
function troublesFor(random: Random, shards: number): Trouble[] {
  const killServer = (bank: Bank) => bank.restartServer(pick(random, [0, 1]));
  const crashShard = (bank: Bank) => bank.takeAway(Math.floor(random() * shards), random() * 800);
  const kinds = [
    killServer,
    crashShard,
    async (bank: Bank) => void (await Promise.all([killServer(bank), crashShard(bank)])),
  ];
  return Array.from({ length: Math.floor(count / 10) }, (_, number) => ({
    after: number * 10 + 1 + Math.floor(random() * 9),
    what: async (bank) => {
      // It may strike anywhere.
      await sleep(random() * 100);
      await kinds[number % 3]?.(bank);
    },
  }));
}

/** The ledger's entries for a transfer that was made. */
function sidesOf({ src, dst }: Transfer, shards: number): string[] {
  if (exists(dst)) return [`transfer_in ${dst}`, `transfer_out ${src}`];
  expect(shardOf(src, shards)).not.toBe(shardOf(dst, shards));
  return [`transfer_back ${src}`, `transfer_out ${src}`];
}

/** What the worker knows of each transfer, and how many keys it used: what was refused it may have tried anew. */
async function outcomes(path: string): Promise<{ told: Map<number, State>; records: number }> {
  const sdk = createSdk({ name: "bank", owner: "single", retention: "24h", store: sqliteStore({ path }) });
  const told = new Map<number, State>();
  let records = 0;
  for await (const { intent, state } of sdk.list()) {
    told.set(Number(intent), state);
    records++;
  }
  await sdk.close();
  return { told, records };
}

/** Looks at the books again and again. Resolves to how often. */
async function watch(bank: Bank, signal: AbortSignal): Promise<number> {
  let looks = 0;
  while (!signal.aborted) {
    await sleep(50);
    // A shard may be away.
    const books = await readBooks(bank.pools).catch(() => undefined);
    if (books === undefined) continue;
    looks++;
    expect(faultsIn(books)).toEqual([]);
    expect(books.balance + underWay(books)).toBe(TOTAL);
  }
  return looks;
}

const pick = <T>(random: Random, list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
