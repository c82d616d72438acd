import type { NodePgDatabase } from "drizzle-orm/node-postgres";
import type { Kysely, Transaction } from "kysely";
import { CompiledQuery } from "kysely";
import type { Pool, PoolClient } from "pg";
import type { ReservedSql, Sql } from "postgres";
import { createIdempotency, type Execution, type Idempotency, idempotentFetch, type RunOptions } from "samekey/server";
import { expectTypeOf, test } from "vitest";

interface Tables {
  accounts: { id: number };
}

test("a handler receives what its database has for a transaction", () => {
  const onPg = createIdempotency({ db: {} as Pool, retention: "24h" });
  expectTypeOf(onPg).toEqualTypeOf<Idempotency<PoolClient, unknown>>();

  const onPostgres = createIdempotency({ db: {} as Sql, retention: "24h" });
  expectTypeOf(onPostgres).toEqualTypeOf<Idempotency<ReservedSql, unknown>>();

  const kysely = {} as Kysely<Tables>;
  const onKysely = createIdempotency({
    db: {
      transaction: (work) => kysely.transaction().execute(work),
      query: (tx: Transaction<Tables>, text, values) => tx.executeQuery(CompiledQuery.raw(text, values)),
    },
    retention: "24h",
  });
  expectTypeOf(onKysely).toEqualTypeOf<Idempotency<Transaction<Tables>, unknown>>();

  const drizzle = {} as NodePgDatabase;
  type Tx = Parameters<Parameters<typeof drizzle.transaction>[0]>[0];
  const onDrizzle = createIdempotency({
    db: {
      transaction: (work) => drizzle.transaction(work),
      query: (tx: Tx, text, _values) => tx.execute(text),
    },
    retention: "24h",
  });
  expectTypeOf(onDrizzle).toEqualTypeOf<Idempotency<Tx, unknown>>();
});

test("nobody may be null or undefined to a `tenant` option, as headers and sessions have it", () => {
  const idempotency = createIdempotency({
    db: {} as Pool,
    retention: "24h",
    tenant: (request: Request) => request.headers.get("x-account"),
  });
  expectTypeOf(idempotency).toEqualTypeOf<Idempotency<PoolClient, Request>>();
  const tenant = async (_request: Request, session: { account: string } | null) => session?.account ?? null;
  idempotentFetch(idempotency, { scope: "transfers", tenant }, () => new Response());
});

test("what is no database is refused", () => {
  // @ts-expect-error
  createIdempotency({ db: {}, retention: "24h" });
  // @ts-expect-error a Kysely has transactions, and does not say how a statement is run on one
  createIdempotency({ db: {} as Kysely<Tables>, retention: "24h" });
});

test("a fallback receives the same transaction as the handler", () => {
  expectTypeOf<NonNullable<RunOptions<PoolClient>["fallback"]>>()
    .parameter(0)
    .toHaveProperty("tx")
    .toEqualTypeOf<PoolClient>();
  expectTypeOf<Execution<PoolClient>["derive"]>().toEqualTypeOf<(step: string) => string>();
});
