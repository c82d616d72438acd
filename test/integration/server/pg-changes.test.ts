import pg from "pg";
import { v7 } from "uuid";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createIdempotency } from "../../../src/server/index.js";
import { effect, type Fixture, request, startFixture } from "./fixture.js";

let fixture: Fixture;

beforeAll(async () => {
  fixture = await startFixture();
}, 60_000);

afterAll(() => fixture.stop());

/** What a program may hand to `pg` besides text: an object that submits itself. */
interface Submittable {
  submit?: unknown;
  handleError?(error: Error): void;
}

const isBatch = (config: unknown): config is Submittable =>
  typeof (config as Submittable | undefined)?.submit === "function" &&
  (config as object).constructor !== pg.Query &&
  !(config instanceof OwnQuery);

class OwnQuery extends pg.Query {}

/** A class of clients with a class of queries to itself, as another version of `pg` would bring. */
const clients: Readonly<Record<string, () => typeof pg.Client>> = {
  "turns away every query that is not its own": () =>
    class extends pg.Client {
      static Query = class extends pg.Query {};
      // biome-ignore lint/suspicious/noExplicitAny: all the overloads of pg's
      override query(...args: any[]): any {
        const [config] = args;
        if (!isBatch(config)) return Reflect.apply(super.query, this, args);
        process.nextTick(() => config.handleError?.(new Error("queries of one's own are not supported")));
      }
    } as unknown as typeof pg.Client,
  "has no class of queries any more": () =>
    class extends pg.Client {
      static Query = undefined;
    } as unknown as typeof pg.Client,
  "hands rows over in another way": () =>
    class extends pg.Client {
      static Query = class extends pg.Query {};
      _handleDataRow(message: { fields: unknown }): void {
        const active = (this as unknown as { _getActiveQuery(): unknown })._getActiveQuery();
        const told = isBatch(active) ? { fields: [], columns: message.fields } : message;
        Reflect.get(pg.Client.prototype, "_handleDataRow").call(this, told);
      }
    } as unknown as typeof pg.Client,
  "speaks to the server in other words": () =>
    class extends pg.Client {
      static Query = class extends pg.Query {};
      constructor(config: pg.ClientConfig) {
        super(config);
        Object.assign((this as unknown as { connection: object }).connection, { close: undefined });
      }
    } as unknown as typeof pg.Client,
};

const poolOf = (pipeline: boolean, Client = pg.Client): pg.Pool =>
  new pg.Pool({ connectionString: fixture.url, max: 1, pipeline, Client } as pg.PoolConfig).on("error", () => {});

/** How many statements are prepared on the pool's only connection. */
async function preparedOn(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query("SELECT count(*)::int AS n FROM pg_prepared_statements");
  return rows[0].n;
}

describe.each([false, true])("pg (pipeline: %s)", (pipeline) => {
  it("as it is installed takes samekey's statements in batches: if this fails, it has changed", async () => {
    const pool = poolOf(pipeline);
    const engine = createIdempotency({ db: pool, retention: "24h" });
    for (let run = 1; run <= 2; run += 1) await engine.run(request(v7()), effect());
    expect(await preparedOn(pool)).toBe(4);
    await pool.end();
  });

  it.each(Object.entries(clients))("that %s gets text, and does what it did", async (_, changed) => {
    const pool = poolOf(pipeline, changed());
    const engine = createIdempotency({ db: pool, retention: "24h" });
    for (let run = 1; run <= 3; run += 1) {
      const key = v7();
      expect((await engine.run(request(key), effect())).kind).toBe("executed");
      expect((await engine.run(request(key), () => expect.unreachable())).kind).toBe("replayed");
      expect((await engine.run(request(key, "other"), () => expect.unreachable())).kind).toBe("mismatched");
      expect(await fixture.effects(key)).toBe(1);
      const refused = v7();
      expect((await engine.run(request(refused), effect({ status: 402 }))).status).toBe(402);
      expect(await fixture.effects(refused)).toBe(0);
    }
    expect(await preparedOn(pool)).toBe(0);
    await pool.end();
  });
});
