/** The statements, and what has to be written together with each other. */

import type { NewRecord, OperationRecord, State } from "../../core/record.js";
import { holdsIntent, needsSync, occupiesLane, scheduleOf } from "../../core/record.js";
import { StoreError } from "../../errors.js";
import type { Counts, Inserted, InsertLimits } from "../../store.js";
import {
  changesIdentity,
  keepsPlace,
  leadsLane,
  mostBeside,
  stampChange,
  stampNew,
  taken,
  tooMany,
  waiting,
} from "../stamp.js";
import type { SqliteDatabase, SqliteRow, SqliteStatement, SqliteValue } from "./driver.js";
import { driverError, isTaken } from "./failure.js";
import { COLUMNS, columnsOf, HELD, recordOf, SELECT } from "./rows.js";

/** Thrown when a transaction that was begun as relaxed turns out to need a sync: it is done again as a strict one. */
export class NeedsStrict extends Error {}

const INSERT = `
  insert into operations (${COLUMNS.join(", ")}, seq, rev, id, record)
  values (${COLUMNS.map(() => "?").join(", ")}, ?, ?, ?, ?) on conflict do nothing`;

// A binding may turn an empty array into NULL.
const INSERT_REQUEST = "insert into requests values (?, coalesce(?, x''))";
const INSERT_RESPONSE = "insert into responses values (?, coalesce(?, x''))";

const updates = new Map<number, string>();

/** The statement that writes some of {@link COLUMNS}, a bit for each. The same string each time: it is looked up by it. */
function updateOf(columns: number): string {
  let sql = updates.get(columns);
  if (sql === undefined) {
    const names = ["rev", "record", ...COLUMNS.filter((_, i) => columns & (1 << i))];
    sql = `update operations set ${names.map((name) => `${name} = ?`).join(", ")} where seq = ? and rev = ? and id = ?`;
    updates.set(columns, sql);
  }
  return sql;
}

/** What one transaction does to the tables. One object serves all transactions of a connection, one after the other. */
export class Transaction {
  /** How many writes were tried; tells whether a verb that failed has left anything behind. */
  writes = 0;
  readonly #db: SqliteDatabase;
  readonly #statements = new Map<string, SqliteStatement>();
  #strict = true;
  #nextSeq: number | undefined;
  #waitingBefore: number | undefined;
  /** What has to be added to `counts`, by owner and state. */
  readonly #deltas = new Map<string, Map<State, number>>();

  constructor(db: SqliteDatabase) {
    this.#db = db;
  }

  /** Forgets what the one before has left, whether it was committed or not. */
  reset(strict: boolean): void {
    this.#strict = strict;
    this.#nextSeq = undefined;
    this.#waitingBefore = undefined;
    this.writes = 0;
    this.#deltas.clear();
  }

  get(sql: string, ...values: SqliteValue[]): SqliteRow | undefined {
    try {
      return (this.#statement(sql).get(...values) ?? undefined) as SqliteRow | undefined;
    } catch (error) {
      throw driverError(error);
    }
  }

  all(sql: string, ...values: SqliteValue[]): SqliteRow[] {
    try {
      return this.#statement(sql).all(...values) as SqliteRow[];
    } catch (error) {
      throw driverError(error);
    }
  }

  /** The record that meets a condition on `o`. */
  record(condition: string, ...values: SqliteValue[]): OperationRecord | undefined {
    const row = this.get(`${SELECT} where ${condition}`, ...values);
    return row && recordOf(row);
  }

  insert(given: NewRecord, limits?: InsertLimits): Inserted {
    const most = mostBeside(given, limits);
    if (most !== undefined && this.#waiting() > most) {
      const standing = this.#standing(given);
      if (standing) return standing;
      throw tooMany(given, limits);
    }
    const parked = occupiesLane(given as OperationRecord) && this.#hasFront(given);
    const record = stampNew(given, this.#seq(), parked);
    const values = columnsOf(record);
    values.push(record.seq, record.rev, record.id, JSON.stringify(record));
    if (this.write(INSERT, values) === 0) return this.#standing(given) ?? neither(given);
    this.#nextSeq = record.seq + 1;
    if (record.request.body) this.#insertBody(INSERT_REQUEST, record.seq, record.request.body);
    if (record.response?.body) this.#insertBody(INSERT_RESPONSE, record.seq, record.response.body);
    this.#count(record, 1);
    return { record };
  }

  /**
   * Puts `after` in the place of `before`.
   *
   * @returns what stands there now, or `undefined` if `before` was not what stood there; nothing is changed then
   */
  replace(before: OperationRecord, after: OperationRecord): OperationRecord | undefined {
    if (!this.#strict && needsSync(before, after)) throw new NeedsStrict();
    const stays = keepsPlace(before, after);
    const parked = stays ? before.parked === true : occupiesLane(after) && this.#hasFront(after);
    const stored = stampChange(before, after, parked);
    if (!this.#change(before, stored)) return undefined;
    if (stored.request.body !== before.request.body) this.#writeBody("requests", stored.seq, stored.request.body);
    if (stored.response?.body !== before.response?.body) {
      this.#writeBody("responses", stored.seq, stored.response?.body);
    }
    if (before.state !== stored.state || before.owner !== stored.owner) {
      this.#count(before, -1);
      this.#count(stored, 1);
    }
    if (holdsIntent(before) && (!holdsIntent(stored) || changesIdentity(before, stored))) this.#handOver(before);
    if (leadsLane(before) && !stays) this.#unpark(before);
    return stored;
  }

  remove(record: OperationRecord): void {
    for (const table of ["operations", "requests", "responses"]) {
      this.write(`delete from ${table} where seq = ?`, [record.seq]);
    }
    this.write("update removed set seq = max(seq, ?)", [record.seq]);
    this.#count(record, -1);
    if (holdsIntent(record)) this.#handOver(record);
    if (leadsLane(record)) this.#unpark(record);
  }

  /** Brings `counts` up to date; once, at the end, for all that was done before. */
  flush(): void {
    const all = new Map<State, number>();
    for (const [owner, states] of this.#deltas) {
      this.#add(`=${owner}`, states);
      for (const [state, n] of states) all.set(state, (all.get(state) ?? 0) + n);
    }
    this.#add("*", all);
    this.#deltas.clear();
    this.#waitingBefore = undefined;
  }

  #add(whose: string, states: ReadonlyMap<State, number>): void {
    for (const [state, n] of states) {
      if (n === 0) continue;
      this.write("insert into counts values (?, ?, ?) on conflict do update set n = n + excluded.n", [whose, state, n]);
      if (n < 0) this.write("delete from counts where whose = ? and state = ? and n = 0", [whose, state]);
    }
  }

  #statement(sql: string): SqliteStatement {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.#db.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  /** @returns how many rows it changed */
  write(sql: string, values: readonly SqliteValue[]): number {
    this.writes += 1;
    try {
      return Number(this.#statement(sql).run(...values).changes);
    } catch (error) {
      throw driverError(error);
    }
  }

  #seq(): number {
    this.#nextSeq ??=
      Number(
        this.get("select max((select coalesce(max(seq), 0) from operations), (select seq from removed)) as last")?.[
          "last"
        ],
      ) + 1;
    return this.#nextSeq;
  }

  /** Whoever kept a new record out: by id, else by intent, else by key. */
  #standing(given: NewRecord): Inserted | undefined {
    const byId = this.record("o.id = ?", given.id);
    return byId ? { record: byId, joined: "id" } : this.#holder(given);
  }

  /** How many are pending or blocked, with what this transaction has changed. */
  #waiting(): number {
    this.#waitingBefore ??= waiting(this.counted("*"));
    const changes = [...this.#deltas.values()].map((states) => waiting(Object.fromEntries(states)));
    return changes.reduce((sum, n) => sum + n, this.#waitingBefore);
  }

  /** What was counted before this transaction, by owner (`=` and the owner) or for all (`*`). */
  counted(whose: string): Counts {
    const rows = this.all("select state, n from counts where whose = ? and n > 0", whose);
    return Object.fromEntries(rows.map(({ state, n }) => [state, n])) as Counts;
  }

  #holder({ owner, origin, key, name, intent }: NewRecord): (Inserted & { joined: "intent" | "key" }) | undefined {
    const byIntent =
      intent !== undefined &&
      this.record("o.owner = ? and o.name = ? and o.intent = ? and o.held = 1", owner, name, intent);
    if (byIntent) return { record: byIntent, joined: "intent" };
    const byKey = this.record("o.owner = ? and o.origin = ? and o.key = ? and o.held = 1", owner, origin, key);
    return byKey && { record: byKey, joined: "key" };
  }

  #hasFront({ owner, lane }: NewRecord): boolean {
    const front = "select 1 from operations where owner = ? and lane = ? and place = 0";
    return this.get(front, owner, lane as string) !== undefined;
  }

  /** Writes the columns that differ, so that only their indexes are touched. */
  #change(before: OperationRecord, stored: OperationRecord): boolean {
    const from = columnsOf(before);
    const to = columnsOf(stored);
    const text = JSON.stringify(stored);
    const update = (): boolean => {
      const values: SqliteValue[] = [stored.rev, text];
      let columns = 0;
      to.forEach((value, i) => {
        if (from[i] === value) return;
        columns |= 1 << i;
        values.push(value);
      });
      values.push(before.seq, before.rev, before.id);
      return this.write(updateOf(columns), values) === 1;
    };
    try {
      return update();
    } catch (error) {
      if (!isTaken(error)) throw error;
      if (changesIdentity(before, stored)) throw taken(this.#holder(stored)?.record);
      // It had let go of its intent, another took it, and now it turns out to have succeeded: that must be told.
      to[HELD] = 2;
      return update();
    }
  }

  /** What `record` has held goes to one that was overtaken, if there is one. */
  #handOver({ owner, origin, key, name, intent }: OperationRecord): void {
    const waiting = this.all(
      `select seq from operations where held = 2 and owner = ?
       and ((name = ? and intent = ?) or (origin = ? and key = ?)) order by seq`,
      owner,
      name,
      intent ?? null,
      origin,
      key,
    );
    for (const { seq } of waiting) {
      this.write("update or ignore operations set held = 1 where seq = ?", [seq as number]);
    }
  }

  #unpark({ owner, lane }: OperationRecord): void {
    const next = this.record(
      "o.owner = ? and o.lane = ? and o.place = 1 order by o.seq limit 1",
      owner,
      lane as string,
    );
    if (!next) return;
    const { due = null, since = null } = scheduleOf(stampChange(next, next, false)) ?? {};
    const sql = "update operations set rev = rev + 1, place = 0, due = ?, since = ? where seq = ?";
    this.write(sql, [due, since, next.seq]);
  }

  #writeBody(table: "requests" | "responses", seq: number, body: ArrayBuffer | undefined): void {
    this.write(`delete from ${table} where seq = ?`, [seq]);
    if (body) this.#insertBody(table === "requests" ? INSERT_REQUEST : INSERT_RESPONSE, seq, body);
  }

  #insertBody(sql: string, seq: number, body: ArrayBuffer): void {
    this.write(sql, [seq, new Uint8Array(body)]);
  }

  #count({ owner, state }: OperationRecord, by: number): void {
    let states = this.#deltas.get(owner);
    if (!states) {
      states = new Map();
      this.#deltas.set(owner, states);
    }
    states.set(state, (states.get(state) ?? 0) + by);
  }
}

function neither({ id }: NewRecord): never {
  throw new StoreError("corrupt", { detail: `operation ${id} could neither be recorded nor joined` });
}
