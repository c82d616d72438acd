import { faultPoint } from "../../core/fault-point.js";
import { StoreError } from "../../errors.js";
import type { Clock } from "../../store.js";
import { withDeadline } from "./deadline.js";
import { isLost } from "./errors.js";
import { COUNTS, OPERATIONS } from "./schema.js";
import { mustSync, Work } from "./work.js";

/** What a transaction is good for, or a verb in need of. */
export interface Mode {
  readonly writes: boolean;
  /** Synced. A verb that turns out to need it without having said so has its transaction begun anew. */
  readonly strict: boolean;
}

/** A verb of the port, on its way into a transaction. */
export interface Verb<T> extends Mode {
  /** Makes its first request at once and depends on no verb before it, so the next one need not wait for it. */
  readonly together: boolean;
  readonly run: (work: Work) => Promise<T>;
}

/** What became of a verb whose transaction was committed. */
export type Outcome = { readonly value: unknown } | { readonly error: unknown };

/**
 * Runs verbs in one transaction and answers once it is *complete*: the success of a request promises nothing.
 *
 * @param more - hands over verbs that have come meanwhile and can share the transaction
 * @throws whatever made the transaction abort: then nothing of it was saved
 */
export async function transact(
  database: IDBDatabase,
  verbs: readonly Verb<unknown>[],
  { writes, strict }: Mode,
  clock: Clock,
  more: () => readonly Verb<unknown>[],
): Promise<readonly Outcome[]> {
  const mode = writes ? "readwrite" : "readonly";
  const tx = database.transaction([OPERATIONS, COUNTS], mode, { durability: strict ? "strict" : "relaxed" });
  FAULT: if (writes) faultPoint("group:begun");
  let reason: unknown;
  const ended = new Promise<void>((resolve, reject) => {
    tx.oncomplete = () => {
      FAULT: if (writes) faultPoint("group:committed");
      resolve();
    };
    // Without an error where the browser itself ends it: the connection was closed by force.
    tx.onabort = () => reject(reason ?? tx.error ?? new DOMException("The transaction was aborted", "AbortError"));
  });
  const abort = (why: unknown) => {
    tx.abort();
    reason = why;
  };

  const filled = fill(new Work(tx, strict), verbs, more).then((outcomes) => {
    FAULT: if (writes) faultPoint("group:commit");
    tx.commit();
    return outcomes;
  });
  // An abort of the transaction's own comes first, and is told by `ended`.
  filled.catch((error) => tx.error ?? abort(error)).catch(() => {});
  await withDeadline(clock, ended, async () => {
    try {
      abort(new StoreError("stalled", { detail: "the transaction was not committed in time" }));
    } catch {
      // Too late to take it back: the browser has been told to commit.
      throw new StoreError(writes ? "not_durable" : "stalled", { detail: "the commit is under way" });
    }
    await withDeadline(clock, ended, () => Promise.reject(reason));
  });
  return filled;
}

async function fill(
  work: Work,
  first: readonly Verb<unknown>[],
  more: () => readonly Verb<unknown>[],
): Promise<Outcome[]> {
  const outcomes: Promise<Outcome>[] = [];
  for (let verbs = first; verbs.length > 0; verbs = more()) {
    for (const verb of [...verbs]) {
      if (!verb.together) await Promise.all(outcomes);
      const already = work.writes;
      const outcome = verb.run(work).then(
        (value) => {
          FAULT: if (verb.writes) faultPoint("group:row");
          return { value };
        },
        (error) => {
          // What a verb has written before it failed can only be taken back with everything else.
          if (error === mustSync || isLost(error) || (!verb.together && work.writes > already)) throw error;
          return { error };
        },
      );
      outcomes.push(outcome);
      if (!verb.together) await outcome;
    }
    await Promise.all(outcomes);
  }
  await work.flush();
  return Promise.all(outcomes);
}
