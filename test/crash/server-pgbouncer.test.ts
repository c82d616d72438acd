import pg from "pg";
import postgres from "postgres";
import {
  type Answer,
  type AnyDatabase,
  type ConnectionOf,
  createIdempotency,
  fingerprint,
  type Idempotency,
  type IdempotencyOptions,
  type Outcome,
} from "samekey/server";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { findPgBouncer, type PgBouncer, startPgBouncer } from "../support/pgbouncer.js";
import { type Bank, type BankServer, newKey, startBank } from "./server-fixture.js";

const program = findPgBouncer();
if (program === undefined) console.warn("PgBouncer is not tested: it is not installed (Debian package pgbouncer)");

/** Fewer than there are requests: they take turns, and every statement may meet another connection. */
const connections = 3;

let bank: Bank;
let bouncer: PgBouncer;
let servers: readonly BankServer[];
let schemas = 0;

beforeAll(async () => {
  if (program === undefined) return;
  bank = await startBank();
  bouncer = await startPgBouncer({ program, target: bank.proxy.url, poolSize: connections });
  servers = await Promise.all(times(2, () => bank.serve({ databaseUrl: bouncer.url })));
});
afterAll(async () => {
  await bouncer?.stop();
  await bank?.stop();
});
afterEach(() => bank?.expectSound());

interface Work {
  readonly answer?: Answer;
  readonly body?: string;
  /** Called in the handler, after its effect, with the pid of its backend. */
  readonly inside?: (pid: number) => unknown;
}

/** An engine on some driver, and a handler with one effect. */
interface Driven {
  engine(options: Partial<IdempotencyOptions>): Pick<Idempotency, "migrate" | "runRetention">;
  run(key: string, work?: Work, options?: Partial<IdempotencyOptions>): Promise<Outcome>;
  end(): Promise<unknown>;
}

const created: Answer = { status: 201, headers: { "content-type": "application/json" }, body: '{"ok":true}' };

function driven<D extends AnyDatabase>(
  db: D,
  query: (tx: ConnectionOf<D>, text: string, values: string[]) => PromiseLike<{ pid: number }[]>,
  end: () => Promise<unknown>,
): Driven {
  const engine = (options: Partial<IdempotencyOptions>) => createIdempotency<D>({ retention: "24h", ...options, db });
  return {
    engine,
    run(key, { answer = created, body = "{}", inside } = {}, options = {}) {
      const request = {
        tenant: "acct_1",
        scope: "ledger",
        key,
        fingerprint: fingerprint({ method: "POST", target: "/ledger", contentType: "application/json", body }),
      };
      return engine(options).run(request, async ({ tx }) => {
        const insert = "INSERT INTO ledger (key, amount) VALUES ($1, 1) RETURNING pg_backend_pid() AS pid";
        const [row] = await query(tx, insert, [key]);
        await inside?.(row?.pid ?? 0);
        return answer;
      });
    },
    end,
  };
}

function withPg(pipeline: boolean): Driven {
  const pool = new pg.Pool({ connectionString: bouncer.url, max: 20, pipeline } as pg.PoolConfig);
  pool.on("error", () => {});
  return driven(
    pool,
    async (tx, text, values) => (await tx.query(text, values)).rows,
    () => pool.end(),
  );
}

function withPostgres(prepare = false): Driven {
  const sql = postgres(bouncer.url, { max: 20, prepare, onnotice: () => {} });
  return driven(
    sql,
    async (tx, text, values) => (await tx.unsafe(text, values)) as unknown as { pid: number }[],
    () => sql.end({ timeout: 1 }),
  );
}

const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));
const textOf = ({ body }: Outcome): string => Buffer.from(body ?? []).toString();

describe.skipIf(program === undefined)("through PgBouncer in transaction mode", () => {
  it("servers that start at once make the schema", async () => {
    const key = newKey();
    for (const [index, server] of servers.entries()) {
      expect(await server.ask(key)).toMatchObject({ status: 201, mark: index === 0 ? "executed" : "replayed" });
    }
  });

  describe.each<[string, () => Driven]>([
    ["pg", () => withPg(false)],
    ["pg with `pipeline: true`", () => withPg(true)],
    ["postgres with `prepare: false`", () => withPostgres()],
  ])("%s", (_, open) => {
    let driver: Driven;
    beforeAll(() => {
      driver = open();
    });
    afterAll(() => driver?.end());

    it("runs a key once and replays it, from twenty requests at once and later", async () => {
      const key = newKey();
      const outcomes = await Promise.all(times(20, () => driver.run(key)));
      expect(outcomes.filter(({ kind }) => kind === "executed")).toHaveLength(1);
      for (const { kind } of outcomes) expect(["executed", "replayed", "in_progress"]).toContain(kind);
      const again = await driver.run(key);
      expect(again).toMatchObject({ kind: "replayed", status: 201 });
      expect(textOf(again)).toBe('{"ok":true}');
      expect(await driver.run(key, { body: "[]" })).toMatchObject({ status: 422 });
      expect(await bank.effects(key)).toBe(1);
    });

    it("never says that a key is busy when it is done", async () => {
      const key = newKey();
      await driver.run(key);
      for (let round = 0; round < 10; round += 1) {
        const outcomes = await Promise.all(times(16, () => driver.run(key)));
        expect(outcomes.map(({ kind }) => kind)).toEqual(Array(16).fill("replayed"));
      }
    });

    it("says that a key is busy while it is", async () => {
      const key = newKey();
      const outcome = await driver.run(key, {
        inside: async () => expect(await driver.run(key)).toMatchObject({ kind: "in_progress", status: 409 }),
      });
      expect(outcome.kind).toBe("executed");
      expect(await bank.effects(key)).toBe(1);
    });

    it("carries a hundred keys at once over few connections", async () => {
      const outcomes = await Promise.all(times(100, () => driver.run(newKey())));
      expect(outcomes.map(({ kind }) => kind)).toEqual(Array(100).fill("executed"));
    });

    it("keeps a refusal, without its effect; keeps nothing of what is released or thrown", async () => {
      const [refused, released, thrown] = [newKey(), newKey(), newKey()];
      expect(await driver.run(refused, { answer: { status: 402 } })).toMatchObject({ kind: "executed", status: 402 });
      expect(await driver.run(refused)).toMatchObject({ kind: "replayed", status: 402 });
      expect(await bank.effects(refused)).toBe(0);
      expect(await driver.run(released, { answer: { status: 503 } })).toMatchObject({ kind: "released" });
      const failing = driver.run(thrown, { inside: () => Promise.reject(new Error("bug")) });
      await expect(failing).rejects.toThrow("bug");
      for (const key of [released, thrown]) {
        expect(await driver.run(key)).toMatchObject({ kind: "executed" });
        expect(await bank.effects(key)).toBe(1);
      }
      // The refusal has a record and no effect, which is not to look odd.
      await bank.query("DELETE FROM samekey.keys WHERE status = 402");
    });

    it("gives a key back when the handler is past its deadline, or its connection is cut", async () => {
      const [late, cut] = [newKey(), newKey()];
      const forever = { inside: () => new Promise(() => {}) };
      expect(await driver.run(late, forever, { handlerTimeout: 200 })).toMatchObject({ status: 503 });
      const severing = { inside: (pid: number) => bank.query("SELECT pg_terminate_backend($1, 5000)", [pid]) };
      expect(await driver.run(cut, severing)).toMatchObject({ kind: "unavailable", status: 503 });
      for (const key of [late, cut]) {
        await expect.poll(async () => (await driver.run(key)).kind, { timeout: 10_000 }).toBe("executed");
        expect(await bank.effects(key)).toBe(1);
      }
    });

    it.each([
      ["lost on the way there", "executed"],
      ["lost on the way back", "replayed"],
    ] as const)("does not know of a COMMIT that is %s, finds out, and nobody else notices", async (fault, kind) => {
      const key = newKey();
      const struck = bank.proxy.atCommit(fault);
      expect(textOf(await driver.run(key))).toContain("outcome_unknown");
      await struck;
      await expect.poll(async () => (await driver.run(key)).kind).toBe(kind);
      expect(await bank.effects(key)).toBe(1);
      const others = await Promise.all(times(20, () => driver.run(newKey())));
      expect(others.map((outcome) => outcome.kind)).toEqual(Array(20).fill("executed"));
    });

    it("drops old partitions while keys are being answered", async () => {
      schemas += 1;
      const schema = `old_${schemas}`;
      await driver.engine({ schema, retention: "7d" }).migrate();
      // Partitions end at midnight: so little that the last one is past it, however early in the day it is.
      const lowered = driver.engine({ schema, retention: Math.ceil((Date.now() % 86_400_000) / 2) });
      await lowered.migrate();
      const [report, ...outcomes] = await Promise.all([
        lowered.runRetention(),
        ...times(20, () => driver.run(newKey())),
      ]);
      expect(report.dropped.length).toBeGreaterThan(0);
      expect(report.waiting).toEqual([]);
      expect(outcomes.map(({ kind }) => kind)).toEqual(Array(20).fill("executed"));
    });

    // F99
    it("leaves nothing in the sessions", async () => {
      const clients = times(connections, () => new pg.Client({ connectionString: bouncer.url }));
      await Promise.all(clients.map((client) => client.connect()));
      await Promise.all(clients.map((client) => client.query("BEGIN")));
      for (const client of clients) {
        const { rows } = await client.query(
          `SELECT current_setting('idle_in_transaction_session_timeout') AS idle,
                  (SELECT count(*)::int FROM pg_prepared_statements) AS prepared,
                  (SELECT count(*)::int FROM pg_listening_channels()) AS channels,
                  (SELECT count(*)::int FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()) AS locks`,
        );
        expect(rows).toEqual([{ idle: "0", prepared: 0, channels: 0, locks: 0 }]);
      }
      await Promise.all(clients.map((client) => client.query("COMMIT").then(() => client.end())));
    });
  });

  it("`postgres` that prepares what it must not there leaves all or nothing of each key", async () => {
    const driver = withPostgres(true);
    for (let round = 0; round < 10; round += 1) {
      const keys = times(20, () => newKey());
      const kinds = await Promise.all(
        keys.map((key) =>
          driver.run(key).then(
            ({ kind }) => kind,
            () => "failed",
          ),
        ),
      );
      for (const [index, key] of keys.entries()) {
        const effects = await bank.effects(key);
        const rows = await bank.query(`SELECT FROM samekey.keys WHERE key = '7${key.replaceAll("-", "")}'`);
        expect([effects, rows.length], kinds[index]).toEqual(kinds[index] === "executed" ? [1, 1] : [0, 0]);
      }
    }
    await driver.end();
  });

  // F89
  it.each([
    ["after its effect", "worked", "executed"],
    ["before the commit", "committing", "executed"],
    ["after the commit", "committed", "replayed"],
  ] as const)("a server that is killed %s leaves all or nothing", async (_, point, mark) => {
    const doomed = await bank.serve({ databaseUrl: bouncer.url });
    const [other] = servers as [BankServer];
    const key = newKey();
    const unanswered = doomed.ask(key, { still: point });
    await doomed.stands(key, point);
    await doomed.crash();
    expect((await unanswered).status).toBe(0);
    expect(await bank.settle(other, key)).toMatchObject({ status: 201, mark });
    expect(await bank.effects(key)).toBe(1);
  });
});
