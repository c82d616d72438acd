import { setTimeout as sleep } from "node:timers/promises";
import type { PoolClient } from "pg";
import { v7 } from "uuid";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type Connection,
  createIdempotency,
  type Database,
  type Execution,
  type QueryResult,
} from "../../../src/server/index.js";
import { sortableKey } from "../../../src/server/key.js";
import { created, effect, errorOf, type Fixture, gate, header, request, startFixture } from "./fixture.js";

let fixture: Fixture;

beforeAll(async () => {
  fixture = await startFixture();
}, 60_000);

afterAll(() => fixture.stop());

/** Ends the backend that serves `tx`, as a crash of its host would. */
async function cut(tx: Connection): Promise<void> {
  const { rows } = await tx.query("SELECT pg_backend_pid() AS pid");
  await fixture.pool.query("SELECT pg_terminate_backend($1)", [rows[0].pid]);
  await sleep(20);
}

/** The fixture's database, with something done in place of each COMMIT. */
function withCommit(instead: (commit: () => Promise<unknown>, tx: PoolClient) => Promise<QueryResult>): Database {
  return {
    async connect() {
      const client = await fixture.pool.connect();
      return {
        query: (text, values) =>
          text === "COMMIT" ? instead(() => client.query(text), client) : client.query(text, values),
        release: (destroy) => client.release(destroy),
        on: (event, listener) => client.on(event, listener),
        removeListener: (event, listener) => client.removeListener(event, listener),
      };
    },
  };
}

// F89
describe("a connection that is cut", () => {
  it.each([
    ["and the handler notices", true],
    ["and the handler does not", false],
  ])("before the commit %s leaves nothing, and the key runs again at once", async (_, notices) => {
    const key = v7();
    const run = fixture.engine.run(request(key), async (execution) => {
      await effect()(execution);
      await cut(execution.tx);
      if (notices) await execution.tx.query("SELECT 1");
      return created;
    });
    expect(await run).toMatchObject({ kind: "unavailable", status: 503 });
    expect(await fixture.effects(key)).toBe(0);
    expect(await fixture.records(sortableKey(key))).toBe(0);
    expect((await fixture.engine.run(request(key), effect())).kind).toBe("executed");
    expect(await fixture.effects(key)).toBe(1);
  });

  it("at the commit, which took place, is answered 503 and replayed to whoever asks again", async () => {
    const lost = withCommit(async (commit) => {
      await commit();
      throw Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
    });
    const key = v7();
    const outcome = await createIdempotency({ db: lost, retention: "24h" }).run(request(key), async ({ tx }) => {
      await tx.query("INSERT INTO effects (key) VALUES ($1)", [key]);
      return created;
    });
    expect(outcome).toMatchObject({ kind: "unavailable", status: 503 });
    expect(errorOf(outcome)).toBe("outcome_unknown");
    expect(header(outcome, "retry-after")).toBe("1");
    expect(header(outcome, "idempotency-status")).toBeUndefined();
    expect((await fixture.engine.run(request(key), effect())).kind).toBe("replayed");
    expect(await fixture.effects(key)).toBe(1);
  });

  it("at the commit, which did not take place, is answered 503 and run again", async () => {
    const lost = withCommit(async (_commit, client) => {
      const { rows } = await client.query("SELECT pg_backend_pid() AS pid");
      await fixture.pool.query("SELECT pg_terminate_backend($1)", [rows[0].pid]);
      throw new Error("Connection terminated unexpectedly");
    });
    const key = v7();
    const outcome = await createIdempotency({ db: lost, retention: "24h" }).run(request(key), async ({ tx }) => {
      await tx.query("INSERT INTO effects (key) VALUES ($1)", [key]);
      return created;
    });
    expect(errorOf(outcome)).toBe("outcome_unknown");
    expect((await fixture.engine.run(request(key), effect())).kind).toBe("executed");
    expect(await fixture.effects(key)).toBe(1);
  });
});

describe("a COMMIT", () => {
  it("that was answered with ROLLBACK is not taken for one", async () => {
    const db = withCommit((_commit, client) => client.query("ROLLBACK"));
    const key = v7();
    const run = createIdempotency({ db, retention: "24h" }).run(request(key), () => created);
    await expect(run).rejects.toThrow("would not commit");
    expect((await fixture.engine.run(request(key), effect())).kind).toBe("executed");
  });
});

describe("the final INSERT", () => {
  // F93
  it("that conflicts takes the effect back, and the stored answer is given", async () => {
    const key = v7();
    const outcome = await fixture.engine.run(request(key), async (execution) => {
      await effect()(execution);
      // Somebody who does not hold to the lock.
      await fixture.pool.query(
        `INSERT INTO samekey.keys (tenant, scope, key, fingerprint, status, headers, body)
         VALUES ('acct_1', 'effects', $1, $2, 202, '[]', 'theirs')`,
        [sortableKey(key), request(key).fingerprint],
      );
      return created;
    });
    expect(outcome).toMatchObject({ kind: "replayed", status: 202 });
    expect(await fixture.effects(key)).toBe(0);
  });

  it("and the effect fall with a constraint that is checked at the commit", async () => {
    await fixture.pool.query(
      "CREATE TABLE late (id int PRIMARY KEY, other int REFERENCES late DEFERRABLE INITIALLY DEFERRED)",
    );
    const key = v7();
    const run = fixture.engine.run(request(key), async (execution) => {
      await execution.tx.query("INSERT INTO late VALUES (1, 2)");
      return effect()(execution);
    });
    await expect(run).rejects.toMatchObject({ code: "23503" });
    expect(await fixture.effects(key)).toBe(0);
    expect((await fixture.engine.run(request(key), effect())).kind).toBe("executed");
  });
});

describe("a slow handler", () => {
  // F90
  it("is not run a second time while retries keep coming", async () => {
    const key = v7();
    const [began, goOn] = [gate(), gate()];
    const slow = fixture.engine.run(request(key), async (execution) => {
      began.open();
      await goOn.passed;
      return effect()(execution);
    });
    await began.passed;
    for (let retry = 0; retry < 5; retry += 1) {
      expect((await fixture.engine.run(request(key), effect())).kind).toBe("in_progress");
    }
    goOn.open();
    expect((await slow).kind).toBe("executed");
    expect(await fixture.effects(key)).toBe(1);
  });

  // F91
  it("past its deadline is told so, answered 503, and cannot touch the database any more", async () => {
    const engine = createIdempotency({ db: fixture.pool, retention: "24h", handlerTimeout: 100 });
    const key = v7();
    let told = false;
    const work = async ({ tx, signal }: Execution<PoolClient>) => {
      signal.addEventListener("abort", () => {
        told = true;
      });
      // Busy, not idle: the database has no reason of its own to end this transaction.
      await tx.query("SELECT pg_sleep(0.5)").catch(() => {});
      await tx.query("INSERT INTO effects (key) VALUES ($1)", [key]);
      return created;
    };
    let zombie: Promise<PromiseSettledResult<unknown>[]> | undefined;
    const outcome = await engine.run(request(key), (execution) => {
      const working = work(execution);
      zombie = Promise.allSettled([working]);
      return working;
    });
    expect(outcome).toMatchObject({ kind: "unavailable", status: 503 });
    expect(errorOf(outcome)).toBe("handler_timeout");
    expect(told).toBe(true);
    expect(await zombie).toMatchObject([{ status: "rejected" }]);
    expect(await fixture.effects(key)).toBe(0);
    // Only the end of the statement tells the backend that its client has gone.
    await expect
      .poll(async () => (await fixture.engine.run(request(key), effect())).kind, { timeout: 5000 })
      .toBe("executed");
    expect(await fixture.effects(key)).toBe(1);
  });

  // F91
  it("whose process stands still loses its transaction to the database's own clock", async () => {
    const engine = createIdempotency({ db: fixture.pool, retention: "24h", handlerTimeout: 100 });
    const key = v7();
    const frozen = engine.run(request(key), async (execution) => {
      await effect()(execution);
      // Nothing runs here, timers included, for longer than the transaction may idle.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400);
      return created;
    });
    expect((await frozen).status).toBe(503);
    expect(await fixture.effects(key)).toBe(0);
    expect((await fixture.engine.run(request(key), effect())).kind).toBe("executed");
    expect(await fixture.effects(key)).toBe(1);
  });
});

// F99
describe("after every outcome", () => {
  it("no lock and no setting is left on the connection", async () => {
    const key = v7();
    await fixture.engine.run(request(key), effect());
    await fixture.engine.run(request(key), effect());
    await fixture.engine.run(request(v7()), effect({ status: 402 }));
    await fixture.engine.run(request(v7()), effect({ status: 503 }));
    // Backends that earlier tests cut off may still be on their way out.
    await expect
      .poll(async () => {
        const { rows } = await fixture.pool.query(
          `SELECT (SELECT count(*)::int FROM pg_locks l JOIN pg_database d ON d.oid = l.database
                    WHERE l.locktype = 'advisory' AND d.datname = current_database()) AS locks,
                  (SELECT count(*)::int FROM pg_stat_activity
                    WHERE state LIKE 'idle in transaction%' AND datname = current_database()) AS open`,
        );
        return rows[0];
      })
      .toEqual({ locks: 0, open: 0 });
    const setting = await fixture.pool.query("SHOW idle_in_transaction_session_timeout");
    expect(setting.rows[0].idle_in_transaction_session_timeout).toBe("0");
  });
});
