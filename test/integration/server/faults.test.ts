import { v7 } from "uuid";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { sqlState } from "../../../src/server/failure.js";
import {
  type Answer,
  createIdempotency,
  type Database,
  type Execution,
  type Handler,
  type Idempotency,
} from "../../../src/server/index.js";
import { sortableKey } from "../../../src/server/key.js";
import { type CommitFault, type PgProxy, startPgProxy } from "../../support/pg-proxy.js";
import { drivers, type OpenDriver, ownConnections } from "./drivers.js";
import { created, effectOn, errorOf, type Fixture, gate, header, request, startFixture } from "./fixture.js";

let fixture: Fixture;
let proxy: PgProxy;

beforeAll(async () => {
  fixture = await startFixture();
  proxy = await startPgProxy(() => fixture.url);
  await fixture.pool.query(
    "CREATE TABLE late (id int PRIMARY KEY, other int REFERENCES late DEFERRABLE INITIALLY DEFERRED)",
  );
}, 60_000);

afterAll(async () => {
  await proxy.close();
  await fixture.stop();
});

describe.each(drivers)("on $name,", (driver) => {
  let opened: OpenDriver;
  let engine: Idempotency<unknown>;
  /** With little patience. */
  let brief: Idempotency<unknown>;
  const effect = (answer?: Answer): Handler<unknown> => effectOn(opened, answer);

  beforeAll(() => {
    opened = driver.open(proxy.url);
    engine = createIdempotency({ db: opened.db, retention: "24h" });
    brief = createIdempotency({ db: opened.db, retention: "24h", handlerTimeout: 250 });
  });

  afterAll(() => opened.end());

  // A statement on a connection that was lost: postgres 3.4 ends the process over it. samekey keeps handlers from that on
  // connections of its own; Drizzle's are not. docs/server.md says so.
  const endsTheProcess = driver.name === "Drizzle on postgres";

  /** Ends the backend that serves `tx`, as a crash of its host would. */
  async function cut(tx: unknown): Promise<void> {
    const [{ pid }] = await opened.query(tx, "SELECT pg_backend_pid() AS pid");
    await fixture.pool.query("SELECT pg_terminate_backend($1)", [pid]);
    const gone = async (): Promise<void> => {
      const { rowCount } = await fixture.pool.query("SELECT FROM pg_stat_activity WHERE pid = $1", [pid]);
      expect(rowCount).toBe(0);
    };
    await vi.waitFor(gone);
    // One more trip over the network: by now the driver has heard of it, too.
    await gone();
  }

  // F89
  describe("a connection that is cut", () => {
    it.each([
      ...(endsTheProcess ? [] : [["and the handler notices", true] as const]),
      ["and the handler does not", false] as const,
    ])(
      "before the commit %s leaves nothing, and the key runs again at once",
      async (_, notices) => {
        const key = v7();
        const run = engine.run(request(key), async (execution) => {
          await effect()(execution);
          await cut(execution.tx);
          if (notices) await opened.query(execution.tx, "SELECT 1");
          return created;
        });
        expect(await run).toMatchObject({ kind: "unavailable", status: 503 });
        expect(await fixture.effects(key)).toBe(0);
        expect(await fixture.records(sortableKey(key))).toBe(0);
        expect((await engine.run(request(key), effect())).kind).toBe("executed");
        expect(await fixture.effects(key)).toBe(1);
        // Less than handlerTimeout, which would come to the rescue of a statement that waits for ever.
      },
      30_000,
    );

    it.each<[CommitFault, string, string]>([
      ["lost on the way back", "took place", "replayed"],
      ["lost on the way there", "did not take place", "executed"],
    ])(
      "at the commit, %s, which %s, is answered 503, and whoever asks again is answered %s",
      async (fault, _, kind) => {
        const key = v7();
        const struck = proxy.atCommit(fault);
        const outcome = await engine.run(request(key), effect());
        await struck;
        expect(outcome).toMatchObject({ kind: "unavailable", status: 503 });
        expect(errorOf(outcome)).toBe("outcome_unknown");
        expect(header(outcome, "retry-after")).toBe("1");
        expect(header(outcome, "idempotency-status")).toBeUndefined();
        // Its backend may not have seen yet that the connection is gone, and the key is in progress until it has.
        await vi.waitFor(async () => expect((await engine.run(request(key), effect())).kind).toBe(kind), 5_000);
        expect(await fixture.effects(key)).toBe(1);
      },
    );
  });

  describe("the final INSERT", () => {
    // F93
    it("that conflicts takes the effect back, and the stored answer is given", async () => {
      const key = v7();
      const outcome = await engine.run(request(key), async (execution) => {
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
      const key = v7();
      const run = engine.run(request(key), async (execution) => {
        await opened.query(execution.tx, "INSERT INTO late VALUES (1, 2)");
        return effect()(execution);
      });
      expect(await run.catch(sqlState)).toBe("23503");
      expect(await fixture.effects(key)).toBe(0);
      expect((await engine.run(request(key), effect())).kind).toBe("executed");
    });
  });

  describe("a slow handler", () => {
    // F90
    it("is not run a second time while retries keep coming", async () => {
      const key = v7();
      const [began, goOn] = [gate(), gate()];
      const slow = engine.run(request(key), async (execution) => {
        began.open();
        await goOn.passed;
        return effect()(execution);
      });
      await began.passed;
      for (let retry = 0; retry < 5; retry += 1) {
        expect((await engine.run(request(key), effect())).kind).toBe("in_progress");
      }
      goOn.open();
      expect((await slow).kind).toBe("executed");
      expect(await fixture.effects(key)).toBe(1);
    });

    // F91
    it.each([
      // Busy, not idle: the database has no reason of its own to end this transaction.
      ["busy", (tx: unknown): Promise<unknown> => opened.query(tx, "SELECT pg_sleep(0.6)")] as const,
      ...(endsTheProcess
        ? []
        : [["doing something else", () => new Promise((resolve) => setTimeout(resolve, 500))] as const]),
    ])(
      "past its deadline, %s, is told so and answered 503, and nothing that it still does lasts",
      async (_, dawdle) => {
        const key = v7();
        let told = false;
        const work = async ({ tx, signal }: Execution<unknown>): Promise<Answer> => {
          signal.addEventListener("abort", () => {
            told = true;
          });
          await dawdle(tx).catch(() => {});
          await opened.query(tx, "INSERT INTO effects (key) VALUES ($1)", [key]);
          return created;
        };
        let zombie: Promise<unknown> | undefined;
        const outcome = await brief.run(request(key), (execution) => {
          const working = work(execution);
          zombie = Promise.allSettled([working]);
          return working;
        });
        expect(outcome).toMatchObject({ kind: "unavailable", status: 503 });
        expect(errorOf(outcome)).toBe("handler_timeout");
        expect(told).toBe(true);
        await zombie;
        expect(await fixture.effects(key)).toBe(0);
        // Only the end of the statement tells the backend that its client has gone.
        await vi.waitFor(async () => expect((await engine.run(request(key), effect())).kind).toBe("executed"), 5000);
        expect(await fixture.effects(key)).toBe(1);
      },
    );

    // F91
    it("whose process stands still loses its transaction to the database's own clock", async () => {
      const key = v7();
      const frozen = brief.run(request(key), async (execution) => {
        await effect()(execution);
        // Nothing runs here, timers included, for longer than the transaction may idle.
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600);
        return created;
      });
      expect((await frozen).status).toBe(503);
      expect(await fixture.effects(key)).toBe(0);
      expect((await engine.run(request(key), effect())).kind).toBe("executed");
      expect(await fixture.effects(key)).toBe(1);
    });
  });

  it.skipIf(!ownConnections.includes(driver)).each([201, 402, 503])(
    "a statement that its handler forgot is refused, and does nothing, after an answer of %i",
    async (status) => {
      const key = v7();
      let forgotten: Promise<unknown> | undefined;
      await engine.run(request(key), ({ tx }) => {
        const write = () => opened.query(tx, "INSERT INTO effects (key) VALUES ($1)", [key]);
        forgotten = opened.query(tx, "SELECT 1").then(write);
        forgotten.catch(() => {});
        return { status };
      });
      await expect(forgotten).rejects.toThrow("await everything done on it");
      expect(await fixture.effects(key)).toBe(0);
    },
  );

  // Drizzle's connections are not samekey's to keep whole.
  it.skipIf(endsTheProcess)("a pool of one is whole again after every fault", async () => {
    const one = driver.open(proxy.url, 1);
    const engine = createIdempotency({ db: one.db, retention: "24h", handlerTimeout: 300 });
    const works = async (): Promise<void> => {
      expect((await engine.run(request(v7()), effectOn(one))).kind).toBe("executed");
    };
    const faults: Handler<unknown>[] = [
      async ({ tx }) => {
        await cut(tx);
        return created;
      },
      async ({ tx }) => {
        const [{ pid }] = await one.query(tx, "SELECT pg_backend_pid() AS pid");
        // It hears of its end in the answer to a statement.
        await one.query(tx, "SELECT pg_terminate_backend($1)", [pid]);
        return created;
      },
      async ({ tx }) => {
        await one.query(tx, "SELECT 1");
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
        return created;
      },
      async ({ tx }) => {
        await one.query(tx, "SELECT pg_sleep(0.4)");
        return created;
      },
      () => {
        proxy.atCommit("lost on the way there");
        return created;
      },
      () => {
        proxy.atCommit("lost on the way back");
        return created;
      },
    ];
    for (const fault of faults) {
      expect((await engine.run(request(v7()), fault)).status).toBe(503);
      await works();
    }
    await one.end();
  });

  // F99
  describe("after every outcome", () => {
    it("no lock and no setting is left on the connection", async () => {
      const key = v7();
      await engine.run(request(key), effect());
      await engine.run(request(key), effect());
      await engine.run(request(v7()), effect({ status: 402 }));
      await engine.run(request(v7()), effect({ status: 503 }));
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
});

describe("a COMMIT", () => {
  it("that was answered with ROLLBACK is not taken for one", async () => {
    const db: Database = {
      async connect() {
        const client = await fixture.pool.connect();
        return {
          query: (text, values) => client.query(text === "COMMIT" ? "ROLLBACK" : text, values),
          release: (destroy) => client.release(destroy),
        };
      },
    };
    const key = v7();
    const run = createIdempotency({ db, retention: "24h" }).run(request(key), () => created);
    await expect(run).rejects.toThrow("would not commit");
    expect((await fixture.engine.run(request(key), () => created)).kind).toBe("executed");
  });
});
