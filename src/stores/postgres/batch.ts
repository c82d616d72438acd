/** The verbs of one tick, in the order of their calls; neighbours of a kind by one statement. */

import type { NewRecord, OperationRecord } from "../../core/record.js";
import type { Inserted, InsertLimits } from "../../store.js";
import { applied } from "../stamp.js";
import { PostgresFailure } from "./failure.js";
import { refusals } from "./limits.js";
import { additionOf, type Change, plainChange, type Transaction } from "./transaction.js";

/** What one verb wants to have done. It may be done again after a transaction that came to nothing. */
export type Work = InsertWork | UpdateWork | OtherWork;

export interface InsertWork {
  readonly kind: "insert";
  readonly record: NewRecord;
  readonly limits?: InsertLimits | undefined;
}

export interface UpdateWork {
  readonly kind: "update";
  readonly id: string;
  readonly apply: (record: OperationRecord) => OperationRecord | undefined;
  readonly base: OperationRecord | undefined;
}

export interface OtherWork {
  readonly kind: "read" | "write";
  run(tx: Transaction): Promise<unknown>;
}

export type Outcome = { readonly value: unknown } | { readonly error: unknown };

/** How many rows a statement carries. */
const MOST = 256;

/** Does all of it. A verb that fails before it has written anything fails alone; otherwise the transaction does. */
export async function perform(tx: Transaction, works: readonly Work[]): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (let at = 0; at < works.length; ) {
    const run = runAt(works, at);
    outcomes.push(...(await performRun(tx, run)));
    at += run.length;
  }
  return outcomes;
}

/** As many of a kind as can share statements: no two of one id. */
function runAt(works: readonly Work[], start: number): Work[] {
  const run: Work[] = [];
  const seen = new Set<string>();
  for (const work of works.slice(start, start + MOST)) {
    const id = idOf(work);
    if (work.kind !== works[start]?.kind || (id !== undefined && seen.has(id))) break;
    run.push(work);
    if (id === undefined) break;
    seen.add(id);
  }
  return run;
}

function idOf(work: Work): string | undefined {
  if (work.kind === "update") return work.id;
  return work.kind === "insert" ? work.record.id : undefined;
}

async function performRun(tx: Transaction, run: readonly Work[]): Promise<Outcome[]> {
  if (run[0]?.kind === "insert") return insertAll(tx, run as InsertWork[]);
  if (run[0]?.kind === "update") return updateAll(tx, run as UpdateWork[]);
  return [await alone(tx, () => (run[0] as OtherWork).run(tx))];
}

async function alone(tx: Transaction, act: () => Promise<unknown>): Promise<Outcome> {
  const before = tx.writes;
  try {
    return { value: await act() };
  } catch (error) {
    if (error instanceof PostgresFailure || tx.writes > before) throw error;
    return { error };
  }
}

async function insertAll(tx: Transaction, run: readonly InsertWork[]): Promise<Outcome[]> {
  const refused = await refusals(tx, run);
  const made = run.map((work) => {
    const error = refused.get(work);
    return error ? { error } : attempt(() => additionOf(work.record));
  });
  const inserted = await tx.insert(made.flatMap((one) => ("value" in one ? [one.value] : [])));
  const answers = inserted[Symbol.iterator]();
  return made.map((one): Outcome => ("value" in one ? { value: answers.next().value as Inserted } : one));
}

/**
 * With a base, a change is one guarded statement, unless someone else has been faster. The others are read first, and
 * locked, in one order.
 */
async function updateAll(tx: Transaction, run: readonly UpdateWork[]): Promise<Outcome[]> {
  const guessed = new Map<string, Change>();
  for (const work of run) {
    const change = guess(work);
    if (change) guessed.set(work.id, change);
  }
  const done = await tx.changeAll([...guessed.values()]);
  const others = run.filter(({ id }) => !done.has(id));
  const standing = others.length > 0 ? await tx.locked(others.map(({ id }) => id)) : new Map();
  const plans = new Map(others.map((work) => [work.id, attempt(() => plan(work, standing.get(work.id)))]));
  const plain = [...plans.values()].flatMap((one) => ("value" in one && one.value.change ? [one.value.change] : []));
  for (const [id, stored] of await tx.changeAll(plain)) done.set(id, stored);
  const outcomes: Outcome[] = [];
  for (const { id } of run) {
    const one = plans.get(id);
    if (done.has(id)) outcomes.push({ value: done.get(id) });
    else if (one && "value" in one) outcomes.push(await alone(tx, () => one.value.rest(tx)));
    else outcomes.push(one as Outcome);
  }
  return outcomes;
}

/** What `apply` makes of the base, where that is a plain change: the rest is left to what stands in the store. */
function guess({ id, apply, base }: UpdateWork): Change | undefined {
  if (base?.id !== id) return undefined;
  try {
    const after = applied(apply, base);
    return after && after !== base ? plainChange(base, after) : undefined;
  } catch {
    return undefined;
  }
}

interface Plan {
  readonly change?: Change | undefined;
  /** What is left to do where it is not a plain change. */
  rest(tx: Transaction): Promise<OperationRecord | undefined>;
}

function plan({ apply }: UpdateWork, before: OperationRecord | undefined): Plan {
  if (!before) return { rest: async () => undefined };
  const after = applied(apply, before);
  if (after === before) return { rest: async () => before };
  if (after) return { change: plainChange(before, after), rest: (tx) => tx.replace(before, after) };
  return {
    async rest(tx) {
      await tx.remove(before);
      return undefined;
    },
  };
}

function attempt<T>(make: () => T): { readonly value: T } | { readonly error: unknown } {
  try {
    return { value: make() };
  } catch (error) {
    return { error };
  }
}
