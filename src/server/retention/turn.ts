import type { Session } from "../sessions/session.js";
import { quoteLiteral } from "../sql/identifier.js";

/**
 * Whether this run may take the step of its transaction: one at a time does. No lock can be held from step to step, as
 * that would take a session's state; two runs that alternate do no harm.
 */
export async function takesTurn(session: Session, schema: string): Promise<boolean> {
  const { rows } = await session.query(
    `SELECT pg_try_advisory_xact_lock(hashtextextended(${quoteLiteral(schema)}, 72)) AS mine`,
  );
  return rows[0].mine;
}
