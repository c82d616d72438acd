import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type BadNetwork, type Fault, type Passing, startBadNetwork } from "../../../examples/demo/bad-network.js";
import { type Bundle, bundle } from "../../support/bundle.js";
import { type Child, startChild } from "../../support/child.js";
import { startPostgres, type TestPostgres } from "../../support/postgres.js";
import { type ServerProcess, startServerProcess } from "../../support/server-process.js";
import type { Told } from "./told.js";

let worker: Bundle;
let postgres: TestPostgres;
let server: ServerProcess;
let network: BadNetwork;
let directory: string;
let running: Child<Told> | undefined;

/** What the network is to do next, and what it is to tell. */
let fault: Fault = "none";
let onAnswer: () => void | Promise<void> = () => {};
const requests: Passing[] = [];

beforeAll(async () => {
  [worker, postgres, directory] = await Promise.all([
    bundle(new URL("worker.ts", import.meta.url)),
    startPostgres(),
    mkdtemp(join(tmpdir(), "samekey-")),
  ]);
  server = await startServerProcess(postgres.url);
  network = await startBadNetwork({
    upstream: server.url,
    fault: (request) => {
      requests.push(request);
      return fault;
    },
    onAnswer: () => onAnswer(),
  });
});

afterAll(async () => {
  await running?.crash();
  await network?.close();
  await server?.stop();
  await postgres?.stop();
  await worker?.remove();
  await rm(directory, { recursive: true, force: true });
});

const start = (): Child<Told> => {
  running = startChild<Told>(worker.path, { args: [network.url, join(directory, "worker.sqlite")] });
  return running;
};

async function ledger(): Promise<{ kind: string; account: string; amount: string; key: string }[]> {
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  try {
    const { rows } = await client.query("SELECT kind, account, amount, key FROM ledger_entries ORDER BY seq");
    return rows;
  } finally {
    await client.end();
  }
}

it("a worker killed between the effect and its answer finishes it after a restart, with one effect", async () => {
  // The server has committed and answered; the answer is lost, and with it the worker.
  fault = "lose response";
  const committed = new Promise<void>((done) => {
    onAnswer = async () => {
      await killed.crash();
      done();
    };
  });
  const killed = start();
  await committed;
  expect(await ledger()).toHaveLength(2);
  expect(killed.messages.filter(({ what }) => what === "done")).toEqual([]);

  fault = "none";
  onAnswer = () => {};
  const restarted = start();
  await restarted.ended();

  const [first, second, ...more] = requests;
  expect(more).toEqual([]);
  expect(second?.key).toBe(first?.key);
  expect(second?.body.equals(first?.body ?? Buffer.of())).toBe(true);
  expect(restarted.messages).toMatchObject([
    { what: "resumed", report: { succeeded: 1, remaining: 0 } },
    { what: "done", key: first?.key, source: "store" },
  ]);
  expect(await ledger()).toMatchObject([
    { kind: "transfer_out", account: "8842", amount: "2500", key: first?.key },
    { kind: "transfer_in", account: "1190", amount: "2500", key: first?.key },
  ]);
});
