import { randomUUID } from "node:crypto";
import type { PoolClient } from "pg";
import type { Answer, Execution } from "samekey/server";
import type { Point, Transfer } from "./server-told.js";

/** Stands still if this is where the request is to do so: until it is told to go on, or for as long as `wait` takes. */
export type Pass = (point: Point, wait?: () => Promise<unknown>) => Promise<void>;

type Work = (execution: Execution<PoolClient>, body: Transfer, pass: Pass) => Promise<Answer>;

/** Whoever executes answers something of their own: a replay gives away whose execution it is. */
const done = (): Answer => ({
  status: 201,
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ execution: randomUUID() }),
});

/** Moves money. Locks the accounts in the order of the request, so that two in opposite directions deadlock. */
const transfer: Work = async ({ tx, key }, { src, dst, amount }, pass) => {
  await pass("claimed");
  await tx.query("UPDATE accounts SET balance = balance - $2 WHERE id = $1", [src, amount]);
  await pass("halfway");
  await tx.query("UPDATE accounts SET balance = balance + $2 WHERE id = $1", [dst, amount]);
  await tx.query("INSERT INTO ledger (key, amount) VALUES ($1, $2)", [key, amount]);
  await pass("working", () => tx.query("SELECT pg_sleep(600)"));
  await pass("worked");
  return done();
};

/**
 * Files the case, which lies in one partition for each state. Two at once cannot be serialized, not even at READ
 * COMMITTED: the second finds that the row it waited for is somewhere else.
 */
const move: Work = async ({ tx, key }, { src, amount }, pass) => {
  await tx.query("UPDATE cases SET state = 'filed' WHERE id = $1", [src]);
  await tx.query("INSERT INTO ledger (key, amount) VALUES ($1, $2)", [key, amount]);
  await pass("halfway");
  return done();
};

/** Fails as a serialization does, every time. */
const conflict: Work = async ({ tx, key }) => {
  await tx.query("INSERT INTO ledger (key, amount) VALUES ($1, 1)", [key]);
  await tx.query("DO $$ BEGIN RAISE 'could not serialize access' USING ERRCODE = 'serialization_failure'; END $$");
  return done();
};

export const works: Readonly<Record<string, Work>> = {
  "/transfers": transfer,
  "/moves": move,
  "/conflicts": conflict,
};
