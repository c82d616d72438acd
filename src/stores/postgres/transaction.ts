/** What one transaction does to the tables, and what has to be written together with each other. */

import { faultPoint } from "../../core/fault-point.js";
import type { NewRecord, OperationRecord } from "../../core/record.js";
import { holdsIntent, needsSync, occupiesLane } from "../../core/record.js";
import { StoreError } from "../../errors.js";
import type { Inserted } from "../../store.js";
import { changesIdentity, keepsPlace, leadsLane, stampChange, stampNew, taken } from "../stamp.js";
import type { Answer, Session } from "./driver.js";
import { channelOf } from "./listen.js";
import { columnText, isParked, type Row, recordOf, rowOf } from "./rows.js";
import type { Tables } from "./schema.js";
import type { Statements } from "./statements.js";

/** How often an insert looks for who kept it out, when whoever did so is gone by then. */
const TRIES = 5;

/** A record as it stood, as it is to stand, and the row that says so: made before anything is written. */
export interface Change {
  readonly before: OperationRecord;
  readonly stored: OperationRecord;
  readonly row: object;
}

/** A new record, and its row. */
export interface Addition {
  readonly given: NewRecord;
  readonly row: Row;
}

export function additionOf(given: NewRecord): Addition {
  return { given, row: rowOf(stampNew(given, 0, false)) };
}

/**
 * The change, where it leaves alone what other records depend on: lane, intent and key. Any number of these are written
 * by one statement.
 */
export function plainChange(before: OperationRecord, after: OperationRecord): Change | undefined {
  const isPlaced = occupiesLane(before) || occupiesLane(after);
  if (isPlaced && !keepsPlace(before, after)) return undefined;
  if (holdsIntent(before) !== holdsIntent(after) || changesIdentity(before, after)) return undefined;
  return changeOf(before, stampChange(before, after, before.parked === true), null);
}

/** @param held - `null` leaves it as it is */
function changeOf(before: OperationRecord, stored: OperationRecord, held: number | null): Change {
  const row = {
    ...rowOf(stored),
    held,
    seq: before.seq,
    rev: before.rev,
    whose: columnText(before.owner),
    was: before.state,
    same_request: stored.request.body === before.request.body,
    same_response: stored.response?.body === before.response?.body,
  };
  if (row.same_request) row.request = null;
  if (row.same_response) row.response = null;
  return { before, stored, row };
}

export class Transaction {
  readonly tables: Tables;
  readonly #session: Pick<Session, "query">;
  readonly #statements: Statements;
  /** How many writes were tried; tells whether a verb that failed has left anything behind. */
  writes = 0;
  /** Whether any of them has to be synced. */
  strict = false;

  constructor(session: Pick<Session, "query">, tables: Tables, statements: Statements) {
    this.#session = session;
    this.tables = tables;
    this.#statements = statements;
  }

  /** `$1` is the sdk's name. */
  async rows(sql: string, ...values: readonly unknown[]): Promise<Answer["rows"]> {
    return (await this.#session.query(sql, this.tables.sdk, ...values)).rows;
  }

  async #write(sql: string, ...values: readonly unknown[]): Promise<Answer["rows"]> {
    this.writes += 1;
    const rows = await this.rows(sql, ...values);
    FAULT: faultPoint("group:row");
    return rows;
  }

  /** The records that meet a condition on `o`; `$1` is the sdk's name. */
  async records(condition: string, ...values: readonly unknown[]): Promise<OperationRecord[]> {
    return (await this.rows(`${this.#statements.select} ${condition}`, ...values)).map(recordOf);
  }

  async record(condition: string, ...values: readonly unknown[]): Promise<OperationRecord | undefined> {
    return (await this.records(condition, ...values))[0];
  }

  get(id: string): Promise<OperationRecord | undefined> {
    return this.record("o.id = $2", columnText(id));
  }

  /** Those of these ids, by id, which nobody else changes until the end. Locked in one order, whoever asks. */
  async locked(ids: readonly string[]): Promise<Map<string, OperationRecord>> {
    const found = await this.records(
      "o.id in (select json_array_elements_text($2::text::json)) order by o.id for update of o",
      JSON.stringify(ids.map(columnText)),
    );
    return new Map(found.map((record) => [record.id, record]));
  }

  /** Of several, no two have an id in common. */
  async insert(additions: readonly Addition[]): Promise<Inserted[]> {
    this.strict = true;
    await this.#lockLanes(additions.map(({ given }) => given));
    const answers = new Map<Addition, Inserted>();
    for (let tries = 0; answers.size < additions.length; tries += 1) {
      const missing = additions.filter((addition) => !answers.has(addition));
      if (tries === TRIES) throw neither(missing);
      const added = await this.#add(missing);
      await this.#fillFronts(missing, added);
      for (const addition of missing) {
        const inserted = added.get(addition.row.id) ?? (await this.standing(addition.given));
        if (inserted) answers.set(addition, inserted);
      }
    }
    return additions.map((addition) => answers.get(addition) as Inserted);
  }

  /** Adds what nothing keeps out. */
  async #add(additions: readonly Addition[]): Promise<Map<string, Inserted>> {
    const rows = additions.map(({ row }, ord) => ({ ord, ...row }));
    const added = await this.#write(this.#statements.insert, JSON.stringify(rows));
    const seen = new Map(added.map((row) => [row["id"], row]));
    const fresh = new Map<string, Inserted>();
    for (const { given, row } of additions) {
      const found = seen.get(row.id);
      if (found) fresh.set(row.id, { record: stampNew(given, Number(found["seq"]), isParked(found)) });
    }
    return fresh;
  }

  /** Those behind one of the same statement that was kept out may have nobody before them. */
  async #fillFronts(additions: readonly Addition[], added: Map<string, Inserted>): Promise<void> {
    const out = additions.filter(({ given, row }) => occupiesLane(given as OperationRecord) && !added.has(row.id));
    for (const { given } of out) {
      if (await this.#front(given)) continue;
      const next = await this.#unpark(given);
      const id = next && columnText(next.id);
      if (id !== undefined && added.has(id)) added.set(id, { record: next as OperationRecord });
    }
  }

  /** Writes plain changes; answers with what stands there now, by id, of those whose `before` was what stood there. */
  async changeAll(changes: readonly Change[]): Promise<Map<string, OperationRecord>> {
    if (changes.length === 0) return new Map();
    const done = await this.#write(this.#statements.change, JSON.stringify(changes.map(({ row }) => row)));
    const ids = new Set(done.map(({ id }) => id));
    const stored = changes.filter(({ before }) => ids.has(columnText(before.id)));
    for (const { before, stored: after } of stored) this.strict ||= needsSync(before, after);
    return new Map(stored.map(({ before, stored: after }) => [before.id, after]));
  }

  /** Puts `after` in the place of `before`, which is locked, and sees to those that waited for its place. */
  async replace(before: OperationRecord, after: OperationRecord): Promise<OperationRecord> {
    const plain = plainChange(before, after);
    if (plain) return this.#written(plain);
    const stays = keepsPlace(before, after);
    const leaves = leadsLane(before) && !stays;
    const enters = occupiesLane(after) && !stays;
    await this.#lockLanes([...(leaves ? [before] : []), ...(enters ? [after] : [])]);
    const parked = stays ? before.parked === true : enters && (await this.#front(after)) !== undefined;
    const change = changeOf(before, stampChange(before, after, parked), await this.#heldBy(before, after));
    const stored = await this.#written(change);
    if (holdsIntent(before) && (!holdsIntent(stored) || changesIdentity(before, stored))) await this.#handOver(before);
    if (leaves) await this.#unpark(before);
    return stored;
  }

  async remove(record: OperationRecord): Promise<void> {
    this.strict = true;
    const leaves = leadsLane(record);
    if (leaves) await this.#lockLanes([record]);
    await this.#write(this.#statements.remove, record.seq);
    if (holdsIntent(record)) await this.#handOver(record);
    if (leaves) await this.#unpark(record);
  }

  /** Adds up what was counted since the last time, unless another process is at it. */
  async fold(): Promise<void> {
    const { schema, sdk } = this.tables;
    const lock = "select pg_try_advisory_xact_lock(hashtextextended($2::text, 7103)) as mine, $1::text";
    const [got] = await this.rows(lock, JSON.stringify([schema, sdk]));
    if (!got?.["mine"]) return;
    await this.#write(this.#statements.fold);
    await this.#write(this.#statements.clear);
  }

  /** Heard once it is committed. */
  async notify(texts: readonly string[]): Promise<void> {
    const sql = "select pg_notify($2::text, t)::text, $1::text from json_array_elements_text($3::text::json) t";
    await this.rows(sql, channelOf(this.tables), JSON.stringify(texts));
  }

  /** In front of a lane stands one, and who leaves it lets the next one in: none of which can be told by a row's lock. */
  async #lockLanes(records: readonly NewRecord[]): Promise<void> {
    const lanes = records.filter((record) => occupiesLane(record as OperationRecord));
    if (lanes.length === 0) return;
    const { schema, sdk } = this.tables;
    const names = lanes.map(({ owner, lane }) => JSON.stringify([schema, sdk, owner, lane]));
    await this.rows(
      `select pg_advisory_xact_lock(k.lane)::text, $1::text from (
        select distinct hashtextextended(n, 7102) as lane from json_array_elements_text($2::text::json) n order by 1) k`,
      JSON.stringify(names),
    );
  }

  async #written(change: Change): Promise<OperationRecord> {
    const stored = (await this.changeAll([change])).get(change.before.id);
    if (stored) return stored;
    throw new StoreError("corrupt", { detail: `operation ${change.before.id} changed although it was locked` });
  }

  /** Whoever kept a new record out: by id, else by intent, else by key. */
  async standing(given: NewRecord): Promise<Inserted | undefined> {
    const byId = await this.get(given.id);
    if (byId) return { record: byId, joined: "id" };
    return this.#holder(given);
  }

  async #holder(record: NewRecord): Promise<(Inserted & { joined: "intent" | "key" }) | undefined> {
    const { owner, origin, key, name, intent } = record;
    const held = "o.held = 1 and o.owner = $2 and";
    const byIntent =
      intent === undefined
        ? undefined
        : await this.record(
            `${held} o.name = $3 and o.intent = $4`,
            columnText(owner),
            columnText(name),
            columnText(intent),
          );
    if (byIntent) return { record: byIntent, joined: "intent" };
    const byKey = await this.record(
      `${held} o.origin = $3 and o.key = $4`,
      columnText(owner),
      columnText(origin),
      columnText(key),
    );
    return byKey && { record: byKey, joined: "key" };
  }

  /** What `held` shall be. */
  async #heldBy(before: OperationRecord, after: OperationRecord): Promise<number | null> {
    if (!holdsIntent(after)) return 0;
    const moves = changesIdentity(before, after);
    if (holdsIntent(before) && !moves) return null;
    const holder = (await this.#holder(after))?.record;
    if (!holder || holder.id === before.id) return 1;
    if (moves) throw taken(holder);
    // It had let go of its intent, another took it, and now it turns out to have succeeded: that must be told.
    return 2;
  }

  async #front({ owner, lane }: NewRecord): Promise<OperationRecord | undefined> {
    return this.record("o.owner = $2 and o.lane = $3 and o.place = 0", columnText(owner), columnText(lane as string));
  }

  /** What `record` has held goes to one that was overtaken, if there is one. */
  async #handOver({ owner, origin, key, name, intent }: OperationRecord): Promise<void> {
    const waiting = await this.records(
      `o.held = 2 and o.owner = $2 and ((o.name = $3 and o.intent = $4) or (o.origin = $5 and o.key = $6))
       order by o.seq for update of o`,
      columnText(owner),
      columnText(name),
      intent === undefined ? null : columnText(intent),
      columnText(origin),
      columnText(key),
    );
    for (const { seq } of waiting) {
      const { operations } = this.tables;
      await this.#write(
        `update ${operations} o set held = 1 where o.sdk = $1 and o.seq = $2::bigint and not exists (
          select from ${operations} h where h.sdk = $1 and h.held = 1 and h.owner = o.owner
          and ((h.name = o.name and h.intent = o.intent) or (h.origin = o.origin and h.key = o.key)))`,
        seq,
      );
    }
  }

  /** The lane is locked. */
  async #unpark({ owner, lane }: NewRecord): Promise<OperationRecord | undefined> {
    const next = await this.record(
      "o.owner = $2 and o.lane = $3 and o.place = 1 order by o.seq limit 1 for update of o",
      columnText(owner),
      columnText(lane as string),
    );
    return next && this.#written(changeOf(next, stampChange(next, next, false), null));
  }
}

function neither(missing: readonly Addition[]): StoreError {
  const ids = missing.map(({ given }) => given.id).join(", ");
  return new StoreError("unavailable", { detail: `operation ${ids} could neither be recorded nor joined` });
}
