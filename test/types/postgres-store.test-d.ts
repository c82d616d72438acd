import type pg from "pg";
import type postgres from "postgres";
import type { OperationHandle, OperationRecord } from "samekey";
import { postgresStore } from "samekey/stores/postgres";
import { expectTypeOf, test } from "vitest";

declare const pool: pg.Pool;
declare const client: pg.PoolClient;
declare const sql: postgres.Sql;
declare const handle: OperationHandle;

test("the pools of pg and postgres.js fit as they are, to write and to listen", () => {
  postgresStore({ pool, schema: "s", listen: () => client as unknown as pg.Client, notify: false });
  postgresStore({ pool: sql, listen: sql });
  // @ts-expect-error: a pool is required
  postgresStore({});
  // @ts-expect-error: a connection is no pool
  postgresStore({ pool: {} });
});

test("a client of pg is a transaction to save in", () => {
  expectTypeOf(handle.save({ tx: client })).resolves.toEqualTypeOf<OperationRecord>();
  expectTypeOf(handle.save()).resolves.toEqualTypeOf<OperationRecord>();
  // @ts-expect-error: that is none
  handle.save({ tx: {} });
});
