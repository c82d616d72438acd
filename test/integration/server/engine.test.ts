import { randomUUID } from "node:crypto";
import pg from "pg";
import { v7 } from "uuid";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Answer, createIdempotency, fingerprint, type Handler, type Outcome } from "../../../src/server/index.js";
import { startPostgres, type TestPostgres } from "../../support/postgres.js";

let postgres: TestPostgres;
let pool: pg.Pool;

beforeAll(async () => {
  postgres = await startPostgres();
  pool = new pg.Pool({ connectionString: postgres.url, max: 20 });
  pool.on("error", () => {});
  await pool.query("CREATE TABLE effects (key text, at timestamptz DEFAULT clock_timestamp())");
  await engine().migrate();
}, 60_000);

afterAll(async () => {
  await pool.end();
  await postgres.stop();
});

const engine = (db: pg.Pool = pool) => createIdempotency({ db, retention: "24h" });

const print = (body: string) =>
  fingerprint({ method: "POST", target: "/effects", contentType: "application/json", body });

const request = (key: string | string[] | undefined, body = "{}") => ({
  tenant: "acct_1",
  scope: "effects",
  key,
  fingerprint: print(body),
});

/** A handler with one effect. */
const effect =
  (
    answer: Answer = { status: 201, headers: { "content-type": "application/json" }, body: '{"ok":true}' },
  ): Handler<pg.PoolClient> =>
  async ({ tx, key }) => {
    await tx.query("INSERT INTO effects (key) VALUES ($1)", [key]);
    return answer;
  };

const effects = async (key: string): Promise<number> =>
  (await pool.query("SELECT count(*)::int AS n FROM effects WHERE key = $1", [key])).rows[0].n;

const text = ({ body }: Outcome): string => Buffer.from(body ?? []).toString();
const header = ({ headers }: Outcome, name: string) => headers.find(([n]) => n === name)?.[1];

describe("one key", () => {
  it("runs once and replays byte for byte", async () => {
    const key = v7();
    const first = await engine().run(request(key), effect());
    const again = await engine().run(request(key), effect());
    expect(first).toMatchObject({ kind: "executed", status: 201 });
    expect(again).toMatchObject({ kind: "replayed", status: 201 });
    expect(text(again)).toBe(text(first));
    expect(header(first, "idempotency-status")).toBe("executed");
    expect(header(first, "idempotency-replayed")).toBeUndefined();
    expect(header(again, "idempotency-status")).toBe("replayed");
    expect(header(again, "idempotency-replayed")).toBe("true");
    expect(header(again, "content-type")).toBe("application/json");
    expect(await effects(key)).toBe(1);
  });

  it.each([
    ["a v7 key", () => v7()],
    ["a v4 key", () => randomUUID()],
    ["any other key", () => `order-${Math.random()}`],
  ])("twenty in parallel with %s leave one effect", async (_, mint) => {
    const key = mint();
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => engine().run(request(key), effect())));
    const kinds = outcomes.map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "executed")).toHaveLength(1);
    expect(new Set(kinds)).not.toContain("unavailable");
    expect(kinds.every((kind) => ["executed", "replayed", "in_progress"].includes(kind))).toBe(true);
    expect(await effects(key)).toBe(1);
  });
});
