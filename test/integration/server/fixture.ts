import pg from "pg";
import {
  type Answer,
  createIdempotency,
  fingerprint,
  type Handler,
  type Idempotency,
  type Outcome,
  type RunRequest,
} from "../../../src/server/index.js";
import { startPostgres } from "../../support/postgres.js";
import type { OpenDriver } from "./drivers.js";

/** A Postgres with the schema and a table of effects. */
export interface Fixture {
  readonly url: string;
  readonly pool: pg.Pool;
  readonly engine: Idempotency<pg.PoolClient>;
  /** How often the handler's work under this key stands. */
  effects(key: string): Promise<number>;
  /** How many answers are stored under this key. */
  records(stored: string): Promise<number>;
  stop(): Promise<void>;
}

export async function startFixture(): Promise<Fixture> {
  const postgres = await startPostgres();
  const pool = makePool(postgres.url, 20);
  await pool.query("CREATE TABLE effects (key text NOT NULL)");
  const engine = createIdempotency({ db: pool, retention: "24h" });
  await engine.migrate();
  const count = async (sql: string, value: string): Promise<number> => (await pool.query(sql, [value])).rows[0].n;
  return {
    url: postgres.url,
    pool,
    engine,
    effects: (key) => count("SELECT count(*)::int AS n FROM effects WHERE key = $1", key),
    records: (stored) => count("SELECT count(*)::int AS n FROM samekey.keys WHERE key = $1", stored),
    stop: async () => {
      await pool.end();
      await postgres.stop();
    },
  };
}

export function makePool(url: string, max: number): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max });
  // Tests cut connections; unheard, that would end the process.
  pool.on("error", () => {});
  return pool;
}

/** A request of one tenant in one scope; `body` is what the fingerprint is made of. */
export const request = (key: RunRequest["key"], body = "{}"): RunRequest => ({
  tenant: "acct_1",
  scope: "effects",
  key,
  fingerprint: fingerprint({ method: "POST", target: "/effects", contentType: "application/json", body }),
});

export const created: Answer = {
  status: 201,
  headers: { "content-type": "application/json" },
  body: '{"ok":true}',
};

/** A handler with one effect. */
export const effect =
  (answer: Answer = created): Handler<pg.PoolClient> =>
  async ({ tx, key }) => {
    await tx.query("INSERT INTO effects (key) VALUES ($1)", [key]);
    return answer;
  };

/** The same, on any driver. */
export const effectOn =
  ({ query }: OpenDriver, answer: Answer = created): Handler<unknown> =>
  async ({ tx, key }) => {
    await query(tx, "INSERT INTO effects (key) VALUES ($1)", [key]);
    return answer;
  };

export const text = ({ body }: Outcome): string => Buffer.from(body ?? []).toString();

export const header = ({ headers }: Outcome, name: string): string | undefined =>
  headers.find(([other]) => other === name)?.[1];

/** An answer's `error` member. */
export const errorOf = (outcome: Outcome): string => JSON.parse(text(outcome)).error;

/** Something that is waited for, and comes when it is said to. */
export interface Gate {
  readonly passed: Promise<void>;
  open(): void;
}

export function gate(): Gate {
  let open = (): void => {};
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { passed, open };
}
