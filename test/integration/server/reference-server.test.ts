import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { v7 } from "uuid";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ReferenceServer, startReferenceServer } from "../../../examples/reference-server/start.js";
import { startPostgres, type TestPostgres } from "../../support/postgres.js";
import { makePool } from "./fixture.js";

const run = fileURLToPath(new URL("../../../examples/reference-server/run.js", import.meta.url));

let postgres: TestPostgres;
let servers: ReferenceServer[];

beforeAll(async () => {
  postgres = await startPostgres();
  // Two at once, on a database that holds nothing yet.
  const options = { databaseUrl: postgres.url, connections: 8 };
  servers = await Promise.all([startReferenceServer(options), startReferenceServer(options)]);
}, 60_000);

afterAll(async () => {
  await Promise.all(servers.map((server) => server.close()));
  await postgres.stop();
});

const at = (index: number): string => servers[index % servers.length]?.url ?? "";

const transfer = (url: string, key: string, body: object, headers: Record<string, string> = {}) =>
  fetch(`${url}/transfers`, {
    method: "POST",
    headers: { "content-type": "application/json", "idempotency-key": key, ...headers },
    body: JSON.stringify(body),
  });

interface Ledger {
  readonly balance: number;
  readonly entries: { transfer: string; kind: string; account: number; amount: number; key: string }[];
}

const ledger = async (account: number): Promise<Ledger> =>
  (await fetch(`${at(0)}/ledger?account=${account}`)).json() as Promise<Ledger>;

const entries = async (account: number, key: string) => (await ledger(account)).entries.filter((e) => e.key === key);

describe("the reference server", () => {
  it("is healthy, and has funded accounts", async () => {
    expect(await (await fetch(`${at(0)}/healthz`)).json()).toEqual({ ok: true });
    expect((await ledger(8842)).balance).toBe(1_000_000);
    expect((await ledger(1190)).balance).toBe(1_000_000);
  });

  it("twenty requests with one key, over two servers, move the money once", async () => {
    const key = v7();
    const body = { src: 8842, dst: 1190, amount: 2500 };
    const responses = await Promise.all(Array.from({ length: 20 }, (_, index) => transfer(at(index), key, body)));
    const marks = responses.map(({ status, headers }) => `${status} ${headers.get("idempotency-status")}`);
    expect(marks.filter((mark) => mark === "201 executed")).toHaveLength(1);
    for (const mark of marks) expect(["201 executed", "201 replayed", "409 null"]).toContain(mark);
    expect(await entries(8842, key)).toMatchObject([{ kind: "transfer_out", amount: 2500 }]);
    expect(await entries(1190, key)).toMatchObject([{ kind: "transfer_in", amount: 2500 }]);
    expect((await ledger(8842)).balance).toBe(997_500);
    expect((await ledger(1190)).balance).toBe(1_002_500);
  });

  it.each([
    ["too little money", { src: 1, dst: 2, amount: 2_000_000 }, 402],
    ["an unknown account", { src: 1, dst: 999_999, amount: 1 }, 404],
    ["a transfer to itself", { src: 3, dst: 3, amount: 1 }, 404],
    ["nothing to move", { src: 1, dst: 2, amount: 0 }, 400],
    ["a number no account has", { src: 1e300, dst: 2, amount: 1 }, 400],
  ])("refuses %s, and stands by it", async (_, body, status) => {
    const key = v7();
    const first = await transfer(at(0), key, body);
    const again = await transfer(at(1), key, body);
    expect([first.status, first.headers.get("idempotency-status")]).toEqual([status, "executed"]);
    expect([again.status, again.headers.get("idempotency-status")]).toEqual([status, "replayed"]);
    expect(await again.text()).toBe(await first.text());
  });

  it("keeps accounts apart, and knows who asks", async () => {
    const key = v7();
    const body = { src: 5, dst: 6, amount: 1 };
    const as = (authorization: string) => transfer(at(0), key, body, { authorization });
    expect((await as("Bearer nonsense")).status).toBe(401);
    expect((await as("Bearer dev-alice")).headers.get("idempotency-status")).toBe("executed");
    expect((await as("Bearer dev-bob")).headers.get("idempotency-status")).toBe("executed");
    expect((await as("Bearer dev-alice")).headers.get("idempotency-status")).toBe("replayed");
  });

  it("lets pages of other origins use it", async () => {
    const preflight = await fetch(`${at(0)}/transfers`, {
      method: "OPTIONS",
      headers: { origin: "https://shop.test", "access-control-request-method": "POST" },
    });
    expect(preflight.headers.get("access-control-allow-headers")).toContain("idempotency-key");
    for (const _ of [1, 2]) {
      const answer = await transfer(at(0), "cors", { src: 5, dst: 6, amount: 1 }, { origin: "https://shop.test" });
      expect(answer.headers.get("access-control-allow-origin")).toBe("*");
      expect(answer.headers.get("access-control-expose-headers")).toContain("idempotency-replayed");
    }
  });

  it("publishes its contract", async () => {
    const answer = await fetch(`${at(0)}/.well-known/idempotency`);
    expect(answer.headers.get("content-type")).toContain("application/json");
    expect(await answer.json()).toMatchObject({ header: "Idempotency-Key", retention: 86_400 });
  });

  // F89
  it("killed in the middle of a transfer leaves nothing, and the next server does it", async () => {
    const pool = makePool(postgres.url, 2);
    const locker = await pool.connect();
    const { child, url } = await startChild();
    const key = v7();
    const body = { src: 20, dst: 21, amount: 100 };
    try {
      await locker.query("BEGIN; SELECT 1 FROM accounts WHERE id = 20 FOR UPDATE");
      const lost = expect(transfer(url, key, body)).rejects.toThrow();
      await untilWaiting(pool);
      child.kill("SIGKILL");
      await lost;
    } finally {
      await locker.query("COMMIT");
      locker.release();
    }
    let answer = await transfer(at(0), key, body);
    while (answer.status === 409) answer = await transfer(at(0), key, body);
    expect([answer.status, answer.headers.get("idempotency-status")]).toEqual([201, "executed"]);
    expect(await entries(20, key)).toHaveLength(1);
    await pool.end();
  }, 30_000);

  it("ends on SIGTERM, after what is under way", async () => {
    const { child, url } = await startChild();
    const pool = makePool(postgres.url, 2);
    const locker = await pool.connect();
    await locker.query("BEGIN; SELECT 1 FROM accounts WHERE id = 30 FOR UPDATE");
    const answer = transfer(url, v7(), { src: 30, dst: 31, amount: 1 });
    await untilWaiting(pool);
    const exit = once(child, "exit");
    child.kill("SIGTERM");
    child.kill("SIGINT");
    await locker.query("COMMIT");
    locker.release();
    expect((await answer).status).toBe(201);
    expect((await exit)[0]).toBe(0);
    await pool.end();
  }, 30_000);
});

it("does not take the port or the data of another", async () => {
  const env = { ...process.env, PORT: new URL(at(0)).port, DATABASE_URL: "" };
  const child = spawn(process.execPath, [run], { env, stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  const [code] = await once(child, "close");
  expect(code).toBe(1);
  expect(said).toContain("set PORT to another");
}, 30_000);

async function startChild(): Promise<{ child: ChildProcess; url: string }> {
  const env = { ...process.env, PORT: "0", DATABASE_URL: postgres.url };
  const child = spawn(process.execPath, [run], { env, stdio: ["ignore", "pipe", "inherit"] });
  for await (const line of child.stdout.setEncoding("utf8")) {
    const url = /http:\/\/\S+/.exec(line)?.[0];
    if (url !== undefined) return { child, url };
  }
  throw new Error("the server ended before it listened");
}

/** Until a transfer waits for the account's row. */
async function untilWaiting(pool: ReturnType<typeof makePool>): Promise<void> {
  for (;;) {
    const { rows } = await pool.query(
      "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
    );
    if (rows.length > 0) return;
  }
}
