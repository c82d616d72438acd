import { partitionTables } from "../partition-tables.js";
import { readSchema, schemaFault } from "../schema-state.js";
import type { Session } from "../sessions/session.js";
import { quoteIdentifier } from "../sql/identifier.js";
import { boundTime } from "../sql/partitions.js";

/** How a database keeps what is promised. Times in ms, by the database's clock. */
export interface RetentionStatus {
  /** How old a key may be and still be known, by the options. */
  readonly promised: number;
  /** How old a key may be and still be known, by what is in the database. Less than promised is too early. */
  readonly kept: number;
  /** How long the oldest partition or opaque key has been due to go; 0 where none is. */
  readonly lag: number;
  /** Partitions whose time is yet to come. */
  readonly ahead: number;
}

/** @throws StoreError `unavailable`, `newer_schema` where the schema is not this code's. */
export async function retentionStatus(session: Session, schema: string, promised: number): Promise<RetentionStatus> {
  const state = await readSchema(session, schema);
  if (state === undefined) throw schemaFault(schema, undefined);
  const { window, now, droppedThrough } = state;
  const tables = await partitionTables(session, schema);
  const { rows } = await session.query(
    `SELECT extract(epoch FROM min(created_at)) * 1000 AS oldest FROM ${quoteIdentifier(schema)}.keys
      WHERE key >= 'o' AND key < 'p' AND expired_at IS NULL`,
  );
  const attached = tables.filter(({ state }) => state === "attached");
  // A partition that somebody dropped by hand is gone without a mark.
  const forgotten = Math.max(droppedThrough, boundTime(attached[0]?.from ?? "70"));
  const due = Math.min(boundTime(tables[0]?.to ?? "7ffffffffffff"), Number(rows[0].oldest ?? now)) + window;
  return {
    promised,
    kept: Math.min(window, now - forgotten),
    lag: Math.max(0, Math.floor(now - due)),
    ahead: attached.filter(({ from }) => boundTime(from) > now).length,
  };
}
