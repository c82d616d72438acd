import { expect, it } from "vitest";
import { controlsTransaction } from "../../../src/server/sessions/session.js";

it.each([
  "BEGIN",
  "begin isolation level serializable",
  "START  TRANSACTION",
  "commit",
  "COMMIT AND CHAIN",
  "END;",
  "abort",
  "ROLLBACK",
  "rollback work",
  "PREPARE TRANSACTION 'x'",
  "  \n-- the last of it\n/* and\nnow */ COMMIT; SELECT 1",
])("takes %j for one that begins or ends a transaction", (text) => {
  expect(controlsTransaction(text)).toBe(true);
});

it.each([
  "SAVEPOINT a",
  "RELEASE SAVEPOINT a",
  "ROLLBACK TO a",
  "ROLLBACK TO SAVEPOINT a",
  "rollback work to savepoint a",
  "rollback transaction to a",
  "PREPARE a AS SELECT 1",
  "SELECT 'COMMIT'",
  "-- COMMIT",
  "/* COMMIT */ SELECT 1",
  "UPDATE commits SET ends = 1",
  "DO $$ BEGIN PERFORM 1; END $$",
  "endless",
  "",
  undefined,
  { text: "COMMIT" },
])("lets %j pass", (text) => {
  expect(controlsTransaction(text)).toBe(false);
});
