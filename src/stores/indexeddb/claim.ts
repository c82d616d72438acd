import { isHeld, type OperationRecord } from "../../core/record.js";
import type { Claimed, ClaimQuery } from "../../store.js";
import { applied, dueAt } from "../stamp.js";
import { past, under } from "./schema.js";
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
    if (record && isWanted(record, query) && !record.parked && !isHeld(record, query.now)) take(record);
  }
}

/**
 * Hands over what is due, queue by queue (an owner's operations at one origin), each by its time; whatever is not is
 * leapt over. The `since` places have what was decided in the future, before the clock jumped back.
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
    const { owner, origin } = record;
    const [, , , time] = cursor.key as [string, string, string, number];
    const name = JSON.stringify([owner, origin]);
    if (name !== queue) [queue, taken] = [name, 0];
    if (!isWanted(record, query)) return cursor.continue(past(place, owner, origin));
    if (place === "since" && time <= now) return cursor.continue(past(place, owner, origin, now));
    // Later, and no candidate of the `since` places either.
    const later = place === "due" && (dueAt(record, now) ?? time) > now;
    if (later || taken === limit) {
      left.push(record);
      return cursor.continue(past(place, owner, origin));
    }
    if ((place === "since" || time <= now) && take(record)) taken++;
    cursor.continue();
  });
  return left;
}

function isWanted({ owner, origin }: OperationRecord, query: ClaimQuery): boolean {
  return owner === (query.owner ?? owner) && !query.exceptOrigins?.includes(origin);
}
