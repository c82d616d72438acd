import type { Session, Sessions } from "./sessions/session.js";

/** Lends a session; one that something went wrong on is closed. */
export async function withSession<T>(db: Sessions, work: (session: Session) => Promise<T>): Promise<T> {
  const session = await db.connect();
  let failed = true;
  try {
    const result = await work(session);
    failed = false;
    return result;
  } finally {
    session.release(failed);
  }
}

/**
 * READ COMMITTED. A transaction that cannot be rolled back ends with its session.
 *
 * @param settings - a statement to begin with
 */
export async function inTransaction<T>(session: Session, work: () => Promise<T>, settings?: string): Promise<T> {
  await session.begin(settings);
  try {
    const result = await work();
    await session.commit();
    return result;
  } catch (error) {
    await session.rollback().catch(() => {});
    throw error;
  }
}
