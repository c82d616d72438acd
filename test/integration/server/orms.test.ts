import { eq, sql } from "drizzle-orm";
import { drizzle, type NodePgDatabase } from "drizzle-orm/node-postgres";
import { integer, pgTable } from "drizzle-orm/pg-core";
import { CompiledQuery, Kysely, PostgresDialect, type Transaction } from "kysely";
import { v7 } from "uuid";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Answer, createIdempotency, type Outcome } from "../../../src/server/index.js";
import { type PgProxy, startPgProxy } from "../../support/pg-proxy.js";
import { heard, template } from "./drivers.js";
import { created, errorOf, type Fixture, gate, makePool, request, startFixture } from "./fixture.js";

let fixture: Fixture;
let proxy: PgProxy;

beforeAll(async () => {
  fixture = await startFixture();
  proxy = await startPgProxy(() => fixture.url);
  await fixture.pool.query("CREATE TABLE accounts (id int PRIMARY KEY, balance int NOT NULL)");
}, 60_000);

beforeEach(() => fixture.pool.query("DELETE FROM accounts; INSERT INTO accounts VALUES (1, 100)"));

afterAll(async () => {
  await proxy.close();
  await fixture.stop();
});

const balance = async (): Promise<number> =>
  (await fixture.pool.query("SELECT balance FROM accounts WHERE id = 1")).rows[0].balance;

/** Takes 10 from the account, by a program's own means, and then answers. */
type Take = (key: string, answer: () => Promise<Answer> | Answer) => Promise<Outcome>;

interface Tables {
  accounts: { id: number; balance: number };
}

function withKysely(url: string): { take: Take; end(): Promise<void> } {
  const pool = heard(makePool(url, 2));
  const kysely = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  const idempotency = createIdempotency({
    db: {
      transaction: (work) => kysely.transaction().execute(work),
      query: (tx: Transaction<Tables>, text, values) => tx.executeQuery(CompiledQuery.raw(text, values)),
    },
    retention: "24h",
  });
  const take: Take = (key, answer) =>
    idempotency.run(request(key), async ({ tx }) => {
      await tx
        .updateTable("accounts")
        .set(({ eb }) => ({ balance: eb("balance", "-", 10) }))
        .where("id", "=", 1)
        .execute();
      return answer();
    });
  return { take, end: () => kysely.destroy() };
}

const accounts = pgTable("accounts", { id: integer().primaryKey(), balance: integer().notNull() });

const takeWithDrizzle = (tx: Pick<NodePgDatabase, "update">) =>
  tx
    .update(accounts)
    .set({ balance: sql`${accounts.balance} - 10` })
    .where(eq(accounts.id, 1));

function withDrizzle(url: string): { take: Take; end(): Promise<void> } {
  const pool = heard(makePool(url, 2));
  const db = drizzle(pool);
  type Tx = Parameters<Parameters<typeof db.transaction>[0]>[0];
  const idempotency = createIdempotency({
    db: {
      transaction: (work) => db.transaction(work),
      query: (tx: Tx, text, values) => tx.execute(template(text, values)),
    },
    retention: "24h",
  });
  const take: Take = (key, answer) =>
    idempotency.run(request(key), async ({ tx }) => {
      await takeWithDrizzle(tx);
      return answer();
    });
  return { take, end: () => pool.end() };
}

/** On samekey's own transaction: one trip less, and nothing to hand over. */
function withDrizzleOnTx(url: string): { take: Take; end(): Promise<void> } {
  const pool = makePool(url, 2);
  const idempotency = createIdempotency({ db: pool, retention: "24h" });
  const take: Take = (key, answer) =>
    idempotency.run(request(key), async ({ tx }) => {
      await takeWithDrizzle(drizzle(tx));
      return answer();
    });
  return { take, end: () => pool.end() };
}

describe.each([
  ["Kysely", withKysely],
  ["Drizzle", withDrizzle],
  ["Drizzle on samekey's transaction", withDrizzleOnTx],
])("a handler that works with %s", (_, open) => {
  let take: Take;
  let end: () => Promise<void>;

  beforeAll(() => {
    ({ take, end } = open(proxy.url));
  });

  afterAll(() => end());

  it("has its effect and its record in one commit, once", async () => {
    const key = v7();
    expect((await take(key, () => created)).kind).toBe("executed");
    expect((await take(key, () => expect.unreachable())).kind).toBe("replayed");
    expect(await balance()).toBe(90);
  });

  it("and refuses or releases has it undone", async () => {
    const key = v7();
    expect((await take(key, () => ({ status: 503 }))).kind).toBe("released");
    expect(await take(key, () => ({ status: 402 }))).toMatchObject({ kind: "executed", status: 402 });
    expect(await take(key, () => expect.unreachable())).toMatchObject({ kind: "replayed", status: 402 });
    expect(await balance()).toBe(100);
  });

  it("and throws has it undone, and throws on", async () => {
    const failing = take(v7(), () => {
      throw new Error("bug");
    });
    await expect(failing).rejects.toThrow("bug");
    expect(await balance()).toBe(100);
  });

  it("does not keep others of the same key waiting", async () => {
    const key = v7();
    const [began, goOn] = [gate(), gate()];
    const slow = take(key, async () => {
      began.open();
      await goOn.passed;
      return created;
    });
    await began.passed;
    expect((await take(key, () => expect.unreachable())).kind).toBe("in_progress");
    goOn.open();
    expect((await slow).kind).toBe("executed");
    expect(await balance()).toBe(90);
  });

  it("whose commit is not confirmed is answered 503, and replayed", async () => {
    const key = v7();
    const struck = proxy.atCommit("lost on the way back");
    expect(errorOf(await take(key, () => created))).toBe("outcome_unknown");
    await struck;
    expect((await take(key, () => expect.unreachable())).kind).toBe("replayed");
    expect(await balance()).toBe(90);
  });
});

it("a `db` whose `transaction` does not call its function, or whose `query` gives no rows, is told so", async () => {
  const idle = createIdempotency({
    db: { transaction: async () => {}, query: async (_: unknown) => [] },
    retention: "24h",
  });
  await expect(idle.run(request(v7()), () => created)).rejects.toThrow("`transaction` ended without calling");
  const mute = createIdempotency({
    db: { transaction: (work) => work(undefined), query: async (_: unknown) => undefined },
    retention: "24h",
  });
  await expect(mute.run(request(v7()), () => created)).rejects.toThrow("`query` must resolve to rows");
});
