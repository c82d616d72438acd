import { setTimeout as sleep } from "node:timers/promises";
import { sqlState } from "../failure.js";

/** What the job waits for a lock, ms. It is always the job that gives up, and tries again. */
const lockTimeout = 1_000;

/** What one of its statements may take, ms. */
const statementTimeout = 10_000;

/** To begin the job's transactions with. */
export const bounded: string = `SELECT set_config('lock_timeout', '${lockTimeout}', true), set_config('statement_timeout', '${statementTimeout}', true)`;

const tries = 3;

// lock_not_available, query_canceled, deadlock_detected; another run detaches it (object_not_in_prerequisite_state) or
// has detached it (undefined_table)
const busy = /^(55P03|57014|40P01|55000|42P01)$/;

/**
 * Tries again, after a random wait, where a lock was not to be had.
 *
 * @returns undefined where it was not to be had at all: the next run tries again
 */
export async function patiently<T>(work: () => Promise<T>): Promise<T | undefined> {
  for (let attempt = 1; attempt <= tries; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (!busy.test(sqlState(error) ?? "")) throw error;
    }
    if (attempt < tries) await sleep(Math.random() * 200 * 2 ** attempt);
  }
  return undefined;
}
