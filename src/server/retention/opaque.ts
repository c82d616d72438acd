import type { Session, Sessions } from "../sessions/session.js";
import { keyLockSql } from "../sql/claim.js";
import { quoteIdentifier } from "../sql/identifier.js";
import { inTransaction, withSession } from "../use-session.js";
import { bounded, patiently } from "./busy.js";
import { takesTurn } from "./turn.js";

/** Rows in one transaction. Each holds a lock, of which the database has but some thousands. */
const batch = 200;

/** Batches in one run. */
const batches = 2_000;

/**
 * Erases the answers of opaque keys that are past the window. The keys stay, to be answered 410: a row's own time may
 * be wrong, if the clock was when it was stored, so that nothing is forgotten that was not seen to be old twice, a
 * window apart.
 *
 * @param now - The time by this process's clock, ms since 1970.
 * @returns how many
 */
export function expireOpaque(db: Sessions, schema: string, now: number): Promise<number> {
  const s = quoteIdentifier(schema);
  return inBatches(
    db,
    schema,
    `k.expired_at IS NULL AND k.created_at < ${timesOf(s, now)} - ${windows("m.window_ms")}`,
    "k.created_at",
    `UPDATE ${s}.keys_opaque k SET body = NULL, headers = '[]', expired_at = greatest(${s}.clock(), ${timestamp(now)})`,
    "FROM held h WHERE",
  );
}

/** Forgets opaque keys, twice the widest window after they were stored. @returns how many */
export function forgetOpaque(db: Sessions, schema: string, now: number): Promise<number> {
  const s = quoteIdentifier(schema);
  // What a wider retention promised is kept for as long as it promised.
  const widest = "CASE WHEN k.created_at <= m.narrowed_at THEN greatest(m.widest_ms, m.window_ms) ELSE m.window_ms END";
  return inBatches(
    db,
    schema,
    `k.expired_at < ${timesOf(s, now)} - ${windows("m.window_ms")}
        AND k.created_at < ${timesOf(s, now)} - 2 * ${windows(widest)}`,
    "k.expired_at",
    `DELETE FROM ${s}.keys_opaque k`,
    "USING held h WHERE",
  );
}

async function inBatches(
  db: Sessions,
  schema: string,
  due: string,
  order: string,
  change: string,
  join: string,
): Promise<number> {
  const s = quoteIdentifier(schema);
  // Under the key's own lock: a claim that meets a row on its way out finds the lock taken, and waits for nothing.
  const sql = `
    WITH due AS MATERIALIZED (
      SELECT k.tenant, k.scope, k.key FROM ${s}.keys_opaque k, ${s}.meta m
        WHERE ${due} ORDER BY ${order} LIMIT ${batch} FOR UPDATE OF k SKIP LOCKED),
    held AS MATERIALIZED (
      SELECT * FROM due h WHERE pg_try_advisory_xact_lock(${keyLockSql(schema, "h.tenant", "h.scope", "h.key")})),
    changed AS (${change} ${join} k.tenant = h.tenant AND k.scope = h.scope AND k.key = h.key RETURNING 1)
    SELECT (SELECT count(*)::int FROM due) AS due, (SELECT count(*)::int FROM changed) AS changed`;
  const step = (session: Session): Promise<{ due: number; changed: number } | undefined> =>
    inTransaction(
      session,
      async () => ((await takesTurn(session, schema)) ? (await session.query(sql)).rows[0] : undefined),
      bounded,
    );
  let total = 0;
  for (let count = 0; count < batches; count += 1) {
    const done = await patiently(() => withSession(db, step));
    total += done?.changed ?? 0;
    if (done === undefined || done.changed === 0 || done.due < batch) break;
  }
  return total;
}

/** The earlier of the database's clock and this process's: one that jumps ahead makes nothing old. */
const timesOf = (s: string, now: number): string => `least(${s}.clock(), ${timestamp(now)})`;

const timestamp = (ms: number): string => `to_timestamp(${Math.floor(ms)} / 1000.0)`;

const windows = (ms: string): string => `(${ms}) * interval '1 millisecond'`;
