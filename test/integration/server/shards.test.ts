import { randomUUID } from "node:crypto";
import type pg from "pg";
import { v7 } from "uuid";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, type MockInstance, vi } from "vitest";
import { type BadNetwork, type Fault, startBadNetwork } from "../../../examples/demo/bad-network.js";
import { databasesFor } from "../../../examples/reference-server/databases.js";
import { type RunningPostgres, startEmbeddedPostgres } from "../../../examples/reference-server/embedded-postgres.js";
import { freePort } from "../../../examples/reference-server/free-port.js";
import type { Ledger } from "../../../examples/reference-server/ledger.js";
import { shardOf } from "../../../examples/reference-server/routing.js";
import {
  type ReferenceServer,
  type ReferenceServerOptions,
  startReferenceServer,
} from "../../../examples/reference-server/start.js";
import { makePool } from "./fixture.js";

const patience = { timeout: 30_000, interval: 20 };
const token = "for the tests";

/** Two servers of databases, as one of them is to go away. */
let postgres: RunningPostgres[];
let pools: pg.Pool[];
let databaseUrl: string[];
let server: ReferenceServer;
let network: BadNetwork;
/** What becomes of the next credits on their way. */
let faults: Fault[];

beforeAll(async () => {
  postgres = await Promise.all([0, 1].map(() => startEmbeddedPostgres({ fsync: false })));
  databaseUrl = postgres.map(({ url }) => url);
  pools = databaseUrl.map((url) => makePool(url, 2));
  const port = await freePort();
  network = await startBadNetwork({
    upstream: `http://127.0.0.1:${port}`,
    fault: ({ method }) => (method === "POST" && faults.shift()) || "none",
  });
  server = await start({ port });
}, 60_000);

beforeEach(() => {
  faults = [];
  [a, b, x, y, nobody] = [of(0), of(0), of(1), of(1), of(1, 900_000)];
});

afterAll(async () => {
  await server.close();
  await network.close();
  await Promise.all(pools.map((pool) => pool.end()));
  await Promise.all(postgres.map((one) => one.stop()));
});

function start(options: Partial<ReferenceServerOptions> = {}): Promise<ReferenceServer> {
  return startReferenceServer({
    databaseUrl,
    connections: 6,
    creditUrl: network.url,
    creditToken: token,
    creditRetry: { base: "10ms", backgroundCap: "50ms" },
    ...options,
  });
}

/** Accounts of the first shard, and of the second, which no other test uses. */
let [a, b, x, y] = [0, 0, 0, 0];
/** An account of the second shard's that nobody has. */
let nobody = 0;

const used = new Set<number>();
function of(shard: number, from = 1): number {
  let account = from;
  while (shardOf(account, 2) !== shard || used.has(account)) account++;
  used.add(account);
  return account;
}

const send = (path: string, body: unknown, headers: Record<string, string>) =>
  fetch(`${server.url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
const transfer = (key: string, body: unknown) => send("/transfers", body, { "idempotency-key": key });
const credit = (body: unknown, authorization = `Bearer ${token}`) => send("/credits", body, { authorization });

const ledger = async (account: number): Promise<Ledger> =>
  (await fetch(`${server.url}/ledger?account=${account}`)).json() as Promise<Ledger>;
const entries = async (account: number) => (await ledger(account)).entries.map(({ kind, amount }) => [kind, amount]);
const mark = ({ status, headers }: Response) => `${status} ${headers.get("idempotency-status")}`;

/** How many credits of a shard are still to be decided. */
const open = async (pool: pg.Pool | undefined): Promise<number> =>
  (await pool?.query("SELECT 1 FROM samekey.operations WHERE state NOT IN ('succeeded', 'rejected')"))?.rowCount ?? -1;

describe("a transfer to another shard", () => {
  it("takes the money at once and brings it a moment later, under the key on both sides", async () => {
    const key = v7();
    const answer = await transfer(key, { src: a, dst: x, amount: 500 });
    expect(mark(answer)).toBe("201 executed");
    expect(await answer.json()).toMatchObject({ src: a, dst: x, amount: 500 });
    expect(await ledger(a)).toMatchObject({ balance: 999_500, entries: [{ kind: "transfer_out", amount: 500, key }] });
    await vi.waitFor(async () => {
      expect(await ledger(x)).toMatchObject({
        balance: 1_000_500,
        entries: [{ kind: "transfer_in", amount: 500, key }],
      });
    }, patience);
  });

  it("is credited once, however often its request and its answer get lost or doubled", async () => {
    faults = ["lose request", "lose response", "503", "cut body", "duplicate"];
    await transfer(v7(), { src: a, dst: x, amount: 500 });
    await vi.waitFor(() => expect(faults).toEqual([]), patience);
    await vi.waitFor(async () => expect(await open(pools[0])).toBe(0), patience);
    expect(await entries(x)).toEqual([["transfer_in", 500]]);
  });

  it("that is refused there gives the money back, once", async () => {
    faults = ["lose response", "lose response"];
    const answer = await transfer(v7(), { src: a, dst: nobody, amount: 500 });
    expect(answer.status).toBe(201);
    const back = [
      ["transfer_out", 500],
      ["transfer_back", 500],
    ];
    await vi.waitFor(async () => expect(await entries(a)).toEqual(back), patience);
    await vi.waitFor(async () => expect(await open(pools[0])).toBe(0), patience);
    expect(await entries(a)).toEqual(back);
    expect((await ledger(a)).balance).toBe(1_000_000);
  });

  it("moves nothing when there is too little money", async () => {
    const answer = await transfer(v7(), { src: a, dst: x, amount: 2_000_000 });
    expect(mark(answer)).toBe("402 executed");
    expect(await open(pools[0])).toBe(0);
    expect(await entries(a)).toEqual([]);
  });
});

describe("a credit of unknown outcome", () => {
  /** Before the window of a relay's keys, a hundred years, began. */
  const tooLongAgo = Date.now() - 101 * 366 * 86_400_000;
  /** As if the credit had first been sent then: the key's window counts from there. */
  const setFirstSending = (at: number) =>
    pools[0]?.query(
      "UPDATE samekey.operations SET rev = rev + 1, record = jsonb_set(record::jsonb - 'serverSince', '{sentAt}', to_jsonb($1::bigint))::text",
      [at],
    );
  let told: MockInstance<typeof console.error>;
  beforeEach(() => {
    told = vi.spyOn(console, "error");
  });
  afterEach(() => vi.restoreAllMocks());

  it("is looked up on the other shard, and not given back if it has arrived", async () => {
    faults = Array(1_000).fill("lose response");
    await transfer("arrived", { src: a, dst: x, amount: 500 });
    await vi.waitFor(async () => expect(await entries(x)).toEqual([["transfer_in", 500]]), patience);
    await setFirstSending(tooLongAgo);
    await vi.waitFor(async () => expect(await open(pools[0])).toBe(0), patience);
    expect(told).toHaveBeenCalledWith(expect.stringContaining("is unresolved: key_expired"));
    expect(await entries(a)).toEqual([["transfer_out", 500]]);
  });

  it("is neither given back nor lost if it has not", async () => {
    faults = Array(1_000).fill("lose request");
    await transfer("lost", { src: a, dst: x, amount: 500 });
    await vi.waitFor(() => expect(faults.length).toBeLessThan(1_000), patience);
    await setFirstSending(tooLongAgo);
    await vi.waitFor(() => expect(told).toHaveBeenCalledWith(expect.stringContaining("is unresolved")), patience);
    faults = [];
    await setFirstSending(Date.now());
    await vi.waitFor(async () => expect(await open(pools[0])).toBe(0), patience);
    expect(await entries(x)).toEqual([["transfer_in", 500]]);
    expect(await entries(a)).toEqual([["transfer_out", 500]]);
  });
});

describe("a credit", () => {
  let body: { transfer: string; account: number; amount: number; key: string };
  beforeEach(() => {
    body = { transfer: randomUUID(), account: x, amount: 7, key: "k" };
  });

  it("wants the shards' own token", async () => {
    expect((await credit(body, "Bearer dev-alice")).status).toBe(401);
    expect((await fetch(`${server.url}/credits/${body.transfer}?account=${x}`)).status).toBe(401);
    expect(await entries(x)).toEqual([]);
  });

  it("twenty times at once is paid in once, and all are told so", async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => credit(body)));
    const marks = answers.map(mark).sort();
    expect(marks).toEqual(["201 executed", ...Array<string>(19).fill("201 replayed")]);
    expect(await entries(x)).toEqual([["transfer_in", 7]]);
  });

  it("that was refused stays refused, even once the account exists", async () => {
    const refused = { ...body, account: nobody };
    expect(mark(await credit(refused))).toBe("404 executed");
    await pools[1]?.query("INSERT INTO accounts VALUES ($1, 0)", [nobody]);
    expect(mark(await credit(refused))).toBe("404 replayed");
    expect(await entries(nobody)).toEqual([]);
  });

  it("of another amount under the same transfer is no answer of the first", async () => {
    await credit(body);
    expect(mark(await credit({ ...body, amount: 8 }))).toBe("422 null");
    expect(await entries(x)).toEqual([["transfer_in", 7]]);
  });
});

describe("a key", () => {
  it("is of the shard that writes: with an account of another shard it is another key there", async () => {
    const key = v7();
    expect(mark(await transfer(key, { src: a, dst: b, amount: 1 }))).toBe("201 executed");
    expect(mark(await transfer(key, { src: b, dst: a, amount: 1 }))).toBe("422 null");
    expect(mark(await transfer(key, { src: x, dst: y, amount: 1 }))).toBe("201 executed");
  });

  it.each([[{ src: "8842", dst: 2, amount: 1 }], [{ dst: 2, amount: 1 }], [[]], [null]])(
    "of a transfer with no source account (%j) stands for its refusal",
    async (body) => {
      const key = v7();
      expect(mark(await transfer(key, body))).toBe("400 executed");
      expect(mark(await transfer(key, body))).toBe("400 replayed");
    },
  );
});

describe("a shard that is away", () => {
  it("takes no other with it, and is served when it comes", async () => {
    await server.close();
    const comeBack = (await postgres[1]?.crash()) ?? expect.fail();
    server = await start({ port: Number(new URL(server.url).port) });
    expect((await transfer(v7(), { src: a, dst: b, amount: 1 })).status).toBe(201);
    const refused = await transfer(v7(), { src: x, dst: y, amount: 1 });
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
    const health = await fetch(`${server.url}/healthz`);
    expect([health.status, await health.json()]).toEqual([503, { ok: false, shards: [true, false] }]);
    await comeBack();
    await vi.waitFor(async () => expect((await fetch(`${server.url}/healthz`)).status).toBe(200), patience);
    expect((await transfer(v7(), { src: x, dst: y, amount: 1 })).status).toBe(201);
  });

  it("for longer than any window still gets its credits, each once", async () => {
    await server.close();
    server = await start({ retention: "2s", port: Number(new URL(server.url).port) });
    // Is paid in, but nobody is told.
    faults = Array(1_000).fill("lose response");
    const [told, key] = [v7(), v7()];
    await transfer(told, { src: a, dst: x, amount: 500 });
    await vi.waitFor(async () => expect(await entries(x)).toEqual([["transfer_in", 500]]), patience);
    const comeBack = (await postgres[1]?.crash()) ?? expect.fail();
    faults = [];
    await transfer(key, { src: a, dst: y, amount: 600 });

    const again = () => transfer(told, { src: a, dst: x, amount: 500 });
    await vi.waitFor(async () => expect((await again()).status).toBe(410), patience);
    expect(await open(pools[0])).toBeGreaterThan(0);
    await comeBack();
    await vi.waitFor(async () => expect(await open(pools[0])).toBe(0), patience);
    expect(await entries(x)).toEqual([["transfer_in", 500]]);
    expect(await entries(y)).toEqual([["transfer_in", 600]]);
    expect(await entries(a)).toHaveLength(2);
  });
});

it("accounts stay where they are", () => {
  const shards = (account: number) => [1, 2, 3, 4, 16].map((count) => shardOf(account, count));
  expect([1, 8842, 1190, Number.MAX_SAFE_INTEGER].map(shards)).toEqual([
    [0, 1, 0, 3, 11],
    [0, 1, 2, 1, 5],
    [0, 0, 1, 0, 8],
    [0, 0, 0, 0, 4],
  ]);
});

it("SHARDS and DATABASE_URL name as many databases", async () => {
  expect(await databasesFor("postgres://a/x,postgres://b/y", "")).toEqual(["postgres://a/x", "postgres://b/y"]);
  await expect(databasesFor("postgres://a/x,postgres://b/y", "3")).rejects.toThrow(
    "SHARDS is 3, but DATABASE_URL names 2",
  );
  await expect(databasesFor("postgres://a/x", "none")).rejects.toThrow("SHARDS is none, expected 1 or more");
});

it("a database that is another shard's is refused", async () => {
  const swapped = start({ databaseUrl: databaseUrl.toReversed() });
  await expect(swapped).rejects.toThrow(/the database is shard \d of 2, not \d of 2/);
});
