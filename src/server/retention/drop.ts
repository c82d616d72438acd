import { MisuseError } from "../../errors.js";
import { sqlState } from "../failure.js";
import type { PartitionTable } from "../partition-tables.js";
import type { Session, Sessions } from "../sessions/session.js";
import { quoteIdentifier } from "../sql/identifier.js";
import { keyBoundSql } from "../sql/partitions.js";
import { inTransaction, withSession } from "../use-session.js";
import { bounded, patiently } from "./busy.js";
import { takesTurn } from "./turn.js";

/**
 * Takes away a partition all of whose keys are past the window, or part of it that an earlier run left.
 *
 * The mark comes first, and is durable before anything else happens: from then on its keys are answered 410, whatever
 * becomes of the retention, the clock or this process.
 *
 * @param now - The time by this process's clock, ms since 1970. A clock alone does not make a key old.
 * @returns whether it is gone
 */
export async function dropPartition(
  db: Sessions,
  schema: string,
  table: PartitionTable,
  now: number,
  patience: number,
): Promise<boolean> {
  const marked = await patiently(() => withSession(db, (session) => mark(session, schema, table, now)));
  if (!marked) return false;
  const gone = await patiently(async () => {
    if (table.state !== "attached") return table.state === "detached" || finishDetach(db, schema, table.name);
    return detach(db, schema, table.name, patience);
  });
  if (!gone) return false;
  const dropped = await patiently(() => withSession(db, (session) => drop(session, schema, table.name)));
  return dropped ?? false;
}

/** @returns false where its keys are still promised, or another run is at it */
function mark(session: Session, schema: string, { to }: PartitionTable, now: number): Promise<boolean> {
  const s = quoteIdentifier(schema);
  const oldest = keyBoundSql(
    `least(floor(extract(epoch FROM ${s}.clock()) * 1000)::bigint, ${Math.floor(now)}) - window_ms`,
  );
  return inTransaction(
    session,
    async () => {
      if (!(await takesTurn(session, schema))) return false;
      const { rows } = await session.query(
        `UPDATE ${s}.meta SET dropped_through = greatest(dropped_through, $1)
          WHERE dropped_through >= $1 OR $1 <= ${oldest} RETURNING one`,
        [to],
      );
      return rows.length > 0;
    },
    bounded,
  );
}

/**
 * A detach waits for the transactions that were under way when it began, and nobody waits for it meanwhile. Past its
 * patience it is left to the database, and the next run finishes it.
 */
async function detach(db: Sessions, schema: string, name: string, patience: number): Promise<boolean> {
  const session = await db.connect();
  let timer: NodeJS.Timeout | undefined;
  let failed = true;
  try {
    // Not in a transaction, hence without time-outs of the database's own: what is set for a session would stay with
    // a pooler's connection.
    const detaching = session.query(`${alter(schema, name)} CONCURRENTLY`).then(() => true);
    const late = new Promise<false>((resolve) => {
      timer = setTimeout(() => resolve(false), patience);
    });
    const gone = await Promise.race([detaching, late]);
    // The backend goes on waiting by itself; this only gives the pool its place back.
    if (!gone) detaching.catch(() => {});
    failed = !gone;
    return gone;
  } catch (error) {
    if (sqlState(error) !== "25001") throw error;
    throw new MisuseError("bad_option", {
      detail:
        "`db` runs every statement in a transaction, where no partition can be detached; pass a pool to the retention job as its `db`, or run `samekey retention`",
      cause: error,
    });
  } finally {
    clearTimeout(timer);
    session.release(failed);
  }
}

async function finishDetach(db: Sessions, schema: string, name: string): Promise<boolean> {
  await withSession(db, (session) =>
    inTransaction(session, () => session.query(`${alter(schema, name)} FINALIZE`), bounded),
  );
  return true;
}

async function drop(session: Session, schema: string, name: string): Promise<boolean> {
  const table = `${quoteIdentifier(schema)}.${quoteIdentifier(name)}`;
  await inTransaction(session, () => session.query(`DROP TABLE IF EXISTS ${table}`), bounded);
  return true;
}

const alter = (schema: string, name: string): string => {
  const s = quoteIdentifier(schema);
  return `ALTER TABLE ${s}.keys DETACH PARTITION ${s}.${quoteIdentifier(name)}`;
};
