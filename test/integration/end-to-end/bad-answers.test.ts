import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { createSdk, post } from "samekey";
import { sqliteStore } from "samekey/stores/sqlite";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type BadNetwork, type Fault, type Passed, startBadNetwork } from "../../../examples/demo/bad-network.js";
import { type ReferenceServer, startReferenceServer } from "../../../examples/reference-server/start.js";
import { startPostgres, type TestPostgres } from "../../support/postgres.js";

let postgres: TestPostgres;
let server: ReferenceServer;
let network: BadNetwork;
let pool: pg.Pool;
let directory: string;

/** What becomes of the next requests; afterwards all is well. */
const faults: Fault[] = [];
/** Every answer of the server's: its status and its mark. */
const answers: string[] = [];
let onAnswer: (answer: Passed) => unknown = () => {};

beforeAll(async () => {
  postgres = await startPostgres();
  pool = new pg.Pool({ connectionString: postgres.url, max: 2 });
  pool.on("error", () => {});
  server = await startReferenceServer({ databaseUrl: postgres.url });
  network = await startBadNetwork({
    upstream: server.url,
    fault: () => faults.shift() ?? "none",
    onAnswer: async (_, answer) => {
      answers.push(`${answer.status} ${answer.headers["idempotency-status"] ?? "unmarked"}`);
      await onAnswer(answer);
    },
  });
  directory = await mkdtemp(join(tmpdir(), "samekey-"));
});

afterAll(async () => {
  await network?.close();
  await server?.close();
  await pool?.end();
  await postgres?.stop();
  await rm(directory, { recursive: true, force: true });
});

/** Transfers this amount, with these faults on its way. No two tests use the same amount. */
async function transfer(amount: number, ...onItsWay: Fault[]) {
  faults.push(...onItsWay);
  answers.length = 0;
  await using sdk = createSdk({
    name: "end-to-end",
    baseUrl: network.url,
    owner: "single",
    retention: "24h",
    attemptTimeout: "2s",
    retry: { base: "20ms", cap: "100ms" },
    store: sqliteStore({ path: join(directory, "transfers.sqlite") }),
    operations: { transfer: post<object, { transfer: string }>("/transfers") },
  });
  const result = await sdk.operation("transfer", { src: 8842, dst: 1190, amount }).send();
  const { rows } = await pool.query("SELECT transfer, kind, key FROM ledger_entries WHERE amount = $1 ORDER BY seq", [
    amount,
  ]);
  const { transfer } = result.data;
  expect(rows).toEqual([
    { transfer, kind: "transfer_out", key: result.key },
    { transfer, kind: "transfer_in", key: result.key },
  ]);
  return result;
}

it("an answer cut off in its body is asked for again, and the whole one counts", async () => {
  expect(await transfer(101, "cut body")).toMatchObject({ source: "replayed", attempts: 2, status: 201 });
  expect(answers).toEqual(["201 executed", "201 replayed"]);
});

it("an answer that is lost is asked for again until it arrives", async () => {
  const result = await transfer(102, "lose response", "lose response", "cut body");
  expect(result).toMatchObject({ source: "replayed", attempts: 4 });
  expect(answers).toEqual(["201 executed", ...Array(3).fill("201 replayed")]);
});

it("a request that is lost is sent again, and executed then", async () => {
  expect(await transfer(103, "lose request", "503")).toMatchObject({ source: "executed", attempts: 3 });
  expect(answers).toEqual(["201 executed"]);
});

it("of two copies at once one is executed; the one told to wait waits, and gets the same answer", async () => {
  // While the account is locked, the first copy is under way and the second finds it there.
  const lock = await pool.connect();
  await lock.query("BEGIN");
  await lock.query("SELECT FROM accounts WHERE id = 8842 FOR UPDATE");
  onAnswer = async ({ status }) => {
    if (status !== 409) return;
    onAnswer = () => {};
    await lock.query("COMMIT");
    lock.release();
  };
  expect(await transfer(104, "duplicate")).toMatchObject({ source: "replayed", attempts: 2, status: 201 });
  expect(answers).toEqual(["409 unmarked", "201 executed", "201 replayed"]);
});
