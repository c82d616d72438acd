import { isHeld, type OperationRecord, readerOf } from "../../core/record.js";
import type { Claimed, ClaimQuery } from "../../store.js";
import { applied, dueAt } from "../stamp.js";
import { under } from "./schema.js";
import type { Work } from "./work.js";

type Apply = (record: OperationRecord) => OperationRecord;
type Change = readonly [before: OperationRecord, after: OperationRecord];

export async function claim(work: Work, query: ClaimQuery, apply: Apply): Promise<Claimed> {
  const changes: Change[] = [];
  const take = (before: OperationRecord) => {
    const after = applied(apply, before);
    if (after !== before) changes.push([before, after]);
    return after !== before;
  };
  const replace = async ([before, after]: Change) => (await work.replace(before, after)) as OperationRecord;
  if (query.ids) {
    await eachNamed(work, query, query.ids, () => changes.length, take);
    return { records: await Promise.all(changes.map(replace)) };
  }

  const due = (record: OperationRecord) => dueAt(record, query.now) ?? Number.POSITIVE_INFINITY;
  const waiting = [...(await eachDue(work, query, "due", take)), ...(await eachDue(work, query, "since", take))];
  changes.sort(([a], [b]) => due(a) - due(b) || a.seq - b.seq);
  const left = changes.splice(query.limit);
  const records = await Promise.all(changes.map(replace));
  const times = [...waiting, ...left.map(([before]) => before)].map(due);
  const next = Math.min(...times, ...records.map(due).filter((time) => time > query.now));
  return { records, next: Number.isFinite(next) ? next : undefined };
}

async function eachNamed(
  work: Work,
  query: ClaimQuery,
  ids: readonly string[],
  taken: () => number,
  take: (record: OperationRecord) => boolean,
): Promise<void> {
  for (const id of new Set(ids)) {
    const record = taken() < query.limit ? await work.first("unique", ["id", id]) : undefined;
    if (record && isWanted(record, readerOf(record), query) && !record.parked && !isHeld(record, query.now))
      take(record);
  }
}

/**
 * Hands over what is due, queue by queue (an owner's operations at one origin, of one reader), each by its time; whatever is
 * not is leapt over. The `since` places have what was decided in the future, before the clock jumped back.
 *
 * @returns the first that is left in each queue
 */
async function eachDue(
  work: Work,
  query: ClaimQuery,
  place: "due" | "since",
  take: (record: OperationRecord) => boolean,
): Promise<OperationRecord[]> {
  const { now, limit } = query;
  const left: OperationRecord[] = [];
  let queue = "";
  let taken = 0;
  await work.walk(under(place, query.owner), (cursor, record) => {
    const key = cursor.key as readonly IDBValidKey[];
    const its = key.slice(0, -1);
    const time = key.at(-1) as number;
    const reader = its[3] as string | undefined;
    // The times of what anyone reads come before the names of readers.
    const next = [...its, reader === undefined ? "" : []];
    const name = JSON.stringify(its);
    if (name !== queue) [queue, taken] = [name, 0];
    if (!isWanted(record, reader, query)) return cursor.continue(next);
    if (place === "since" && time <= now) return cursor.continue([...its, now, []]);
    // Later, and no candidate of the `since` places either.
    const later = place === "due" && (dueAt(record, now) ?? time) > now;
    if (later || taken === limit) {
      left.push(record);
      return cursor.continue(next);
    }
    if ((place === "since" || time <= now) && take(record)) taken++;
    cursor.continue();
  });
  return left;
}

/** @param reader - as the index has it: an older samekey has written it without */
function isWanted({ owner, origin }: OperationRecord, reader = "", query: ClaimQuery): boolean {
  const { exceptOrigins, exceptReaders } = query;
  return owner === (query.owner ?? owner) && !exceptOrigins?.includes(origin) && !exceptReaders?.has(reader);
}
