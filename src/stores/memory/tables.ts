/** The tables of the memory store, and the rules by which records stand in them. */

import type { NewRecord, OperationRecord, State } from "../../core/record.js";
import { holdsIntent, isBare, isHeld, isSettled, occupiesLane, prunableSince, readerOf } from "../../core/record.js";
import type { Claimed, ClaimQuery, Counts, Inserted, InsertLimits, PageFilter, PruneQuery } from "../../store.js";
import {
  applied,
  changesIdentity,
  dueAt,
  holderOf,
  isListed,
  keepsPlace,
  leadsLane,
  mostBeside,
  pruneFrom,
  relieved,
  stampChange,
  stampNew,
  taken,
  tooMany,
  waiting,
} from "../stamp.js";

type Change = (record: OperationRecord) => OperationRecord | undefined;

/** What a store in memory consists of. Every verb of the port runs in its call: that is its transaction. */
export class MemoryTables {
  /** By id, and in `seq` order. */
  #records = new Map<string, OperationRecord>();
  /** What is unique, and the id of the record that holds it. */
  #holders = new Map<string, string>();
  /** Those that would hold something which another has taken since. */
  #overtaken = new Set<string>();
  #counts = new Map<string, Map<State, number>>();
  #seq = 0;

  /** Tables of their own in which the same stands now. */
  copy(): MemoryTables {
    const copy = new MemoryTables();
    copy.#records = new Map(this.#records);
    copy.#holders = new Map(this.#holders);
    copy.#overtaken = new Set(this.#overtaken);
    copy.#counts = new Map([...this.#counts].map(([owner, states]) => [owner, new Map(states)]));
    copy.#seq = this.#seq;
    return copy;
  }

  insert(record: NewRecord, limits?: InsertLimits): Inserted {
    const standing = this.#standing(record);
    if (standing) return standing;
    const most = mostBeside(record, limits);
    if (most !== undefined && waiting(this.counts()) > most) throw tooMany(record, limits);
    const parked = occupiesLane(record as OperationRecord) && this.#front(record.owner, record.lane) !== undefined;
    const stored = structuredClone(stampNew(record, this.#seq + 1, parked));
    this.#seq += 1;
    this.#write(undefined, stored);
    return { record: stored };
  }

  claim(query: ClaimQuery, apply: (record: OperationRecord) => OperationRecord): Claimed {
    const candidates = query.ids ? this.#named(query) : this.#due(query);
    const changes: [OperationRecord, OperationRecord][] = [];
    let seen = 0;
    for (const before of candidates) {
      if (changes.length === query.limit) break;
      seen += 1;
      if (!matches(before, query)) continue;
      const after = applied(apply, before);
      if (after !== before) changes.push([before, after]);
    }
    const records = this.#changeAll(changes);
    if (query.ids) return { records };
    const left = candidates.slice(seen).find((record) => matches(record, query));
    return { records, next: left ? dueAt(left, query.now) : this.#next(query) };
  }

  update(id: string, apply: Change): OperationRecord | undefined {
    const before = this.#records.get(id);
    if (!before) return undefined;
    const after = applied(apply, before);
    if (after === before) return before;
    if (after) return this.#changeAll([[before, after]])[0];
    this.#write(before, undefined);
    return undefined;
  }

  get(id: string): OperationRecord | undefined {
    return this.#records.get(id);
  }

  find(owner: string, name: string, intent: string): OperationRecord | undefined {
    return this.#select((record) => record.owner === owner && record.name === name && record.intent === intent).at(-1);
  }

  head(owner: string, lane: string): OperationRecord | undefined {
    return this.#front(owner, lane);
  }

  page(filter: PageFilter): readonly OperationRecord[] {
    const { after = 0, limit = 100 } = filter;
    return this.#select((record) => record.seq > after && isListed(record, filter)).slice(0, limit);
  }

  prunable(query: PruneQuery): readonly OperationRecord[] {
    const { settledBefore, bare, limit } = query;
    const [from, last] = pruneFrom(query);
    const since = (record: OperationRecord) => prunableSince(record) ?? Number.POSITIVE_INFINITY;
    const found = this.#select((record) => since(record) < settledBefore && isBare(record) === bare);
    const behind = found.filter((it) => since(it) > from || (since(it) === from && it.seq > last));
    return behind.sort((a, b) => since(a) - since(b) || a.seq - b.seq).slice(0, limit);
  }

  counts(owner?: string): Counts {
    const sum: { [S in State]?: number } = {};
    for (const [whose, states] of this.#counts) {
      if (owner !== undefined && whose !== owner) continue;
      for (const [state, count] of states) if (count > 0) sum[state] = (sum[state] ?? 0) + count;
    }
    return sum;
  }

  relieve(isDead: (holder: string) => boolean): number {
    const orphans = this.#select((record) => {
      const holder = holderOf(record);
      return holder !== undefined && isDead(holder);
    });
    this.#changeAll(orphans.map((record) => [record, relieved(record)]));
    return orphans.length;
  }

  #select(wanted: (record: OperationRecord) => boolean): OperationRecord[] {
    return [...this.#records.values()].filter(wanted);
  }

  #standing(record: NewRecord): Inserted | undefined {
    const same = this.#records.get(record.id);
    if (same) return { record: same, joined: "id" };
    for (const [what, by] of unique(record)) {
      const holder = this.#records.get(this.#holders.get(what) ?? "");
      if (holder) return { record: holder, joined: by };
    }
    return undefined;
  }

  #named({ ids = [], ...query }: ClaimQuery): OperationRecord[] {
    const named = [...new Set(ids)].flatMap((id) => this.#records.get(id) ?? []);
    return named.filter((record) => matches(record, query) && !record.parked && !isHeld(record, query.now));
  }

  #due(query: ClaimQuery): OperationRecord[] {
    const { now } = query;
    const due = (record: OperationRecord) => dueAt(record, now) ?? Number.POSITIVE_INFINITY;
    const found = this.#select((record) => matches(record, query) && due(record) <= now);
    return found.sort((a, b) => due(a) - due(b) || a.seq - b.seq);
  }

  #next(query: ClaimQuery): number | undefined {
    const waiting = this.#select((record) => matches(record, query)).map((record) => dueAt(record, query.now));
    const later = waiting.filter((due) => due !== undefined && due > query.now) as number[];
    return later.length > 0 ? later.reduce((a, b) => Math.min(a, b)) : undefined;
  }

  #front(owner: string, lane: string | undefined): OperationRecord | undefined {
    if (lane === undefined) return undefined;
    return this.#select((record) => record.owner === owner && record.lane === lane && leadsLane(record))[0];
  }

  /** All or nothing: whatever may fail comes before the first write. */
  #changeAll(changes: readonly (readonly [OperationRecord, OperationRecord])[]): OperationRecord[] {
    const stored = changes.map(([before, after]) => {
      const holder = changesIdentity(before, after) && this.#standing({ ...after, id: "" })?.record;
      if (holder && holder.id !== before.id) throw taken(holder);
      const entersTaken = !keepsPlace(before, after) && occupiesLane(after) && this.#front(after.owner, after.lane);
      const parked = keepsPlace(before, after) ? before.parked === true : Boolean(entersTaken);
      return structuredClone(stampChange(before, after, parked));
    });
    for (const [index, [before]] of changes.entries()) this.#write(before, stored[index]);
    return stored;
  }

  #write(before: OperationRecord | undefined, after: OperationRecord | undefined): void {
    if (before) this.#count(before, -1);
    if (after) {
      this.#count(after, 1);
      this.#records.set(after.id, after);
    } else if (before) {
      this.#records.delete(before.id);
    }
    this.#hold(before, after);
    if (before && leadsLane(before) && !(after && keepsPlace(before, after))) this.#unpark(before);
  }

  #hold(before: OperationRecord | undefined, after: OperationRecord | undefined): void {
    const id = (before ?? after)?.id as string;
    const released = before ? unique(before).filter(([what]) => this.#holders.get(what) === id) : [];
    for (const [what] of released) this.#holders.delete(what);
    this.#overtaken.delete(id);
    // One that had let go, and turns out to have succeeded, must be told so although another has taken its place.
    if (after) this.#take(after);
    if (released.length > 0)
      for (const other of this.#overtaken) this.#take(this.#records.get(other) as OperationRecord);
  }

  #take(record: OperationRecord): void {
    const wanted = unique(record);
    if (wanted.some(([what]) => this.#holders.has(what))) {
      this.#overtaken.add(record.id);
      return;
    }
    this.#overtaken.delete(record.id);
    for (const [what] of wanted) this.#holders.set(what, record.id);
  }

  #unpark({ owner, lane }: OperationRecord): void {
    const behind = (record: OperationRecord) =>
      record.owner === owner && record.lane === lane && !isSettled(record) && record.parked === true;
    const next = this.#select(behind)[0];
    if (next) this.#write(next, stampChange(next, next, false));
  }

  #count({ owner, state }: OperationRecord, by: number): void {
    const states = this.#counts.get(owner) ?? new Map<State, number>();
    this.#counts.set(owner, states.set(state, (states.get(state) ?? 0) + by));
  }
}

/** What the record is unique by while it holds its intent. */
function unique(record: NewRecord): [what: string, by: "intent" | "key"][] {
  if (!holdsIntent(record as OperationRecord)) return [];
  const { owner, name, intent, origin, key } = record;
  const byKey: [string, "key"] = [JSON.stringify(["key", owner, origin, key]), "key"];
  return intent === undefined ? [byKey] : [[JSON.stringify(["intent", owner, name, intent]), "intent"], byKey];
}

function matches(record: OperationRecord, query: Omit<ClaimQuery, "ids">): boolean {
  const { owner, exceptOrigins, exceptReaders } = query;
  if (owner !== undefined && record.owner !== owner) return false;
  return !exceptOrigins?.includes(record.origin) && !exceptReaders?.has(readerOf(record));
}
