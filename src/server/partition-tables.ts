import type { Session } from "./sessions/session.js";
import { type Partition, parsePartition } from "./sql/partitions.js";

/** A table that holds a partition's keys, whether or not it is one still. */
export interface PartitionTable extends Partition {
  /** `pending`: a detach was begun and is not finished. `detached`: only to be dropped. */
  readonly state: "attached" | "pending" | "detached";
}

/** The tables of v7 keys, oldest first. */
export async function partitionTables(session: Session, schema: string): Promise<PartitionTable[]> {
  const { rows } = await session.query(
    `SELECT c.relname AS name, i.inhrelid IS NOT NULL AS attached, coalesce(i.inhdetachpending, false) AS pending
      FROM pg_catalog.pg_class c
      JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
      LEFT JOIN pg_catalog.pg_inherits i ON i.inhrelid = c.oid
      WHERE n.nspname = $1 AND c.relkind = 'r' ORDER BY c.relname`,
    [schema],
  );
  return rows.flatMap(({ name, attached, pending }) => {
    const partition = parsePartition(name);
    if (partition === undefined) return [];
    return [{ ...partition, state: attached ? (pending ? "pending" : "attached") : "detached" }];
  });
}
