/** The tables, and what is set on a connection before it is used. */

import { faultPoint } from "../../core/fault-point.js";
import { StoreError } from "../../errors.js";
import type { SqliteDatabase, SqliteRow } from "./driver.js";
import { sqliteCode } from "./failure.js";

/** "smky": tells our files from everyone else's. */
const APPLICATION_ID = 0x736d6b79;
/** Raised only when an older samekey could no longer work with the file. */
export const SCHEMA_VERSION = 1;

/**
 * How long SQLite itself waits for another writer, in milliseconds. It blocks the event loop meanwhile, so it is
 * short; the queue waits the rest without blocking.
 */
export const BUSY_TIMEOUT = 20;

const DUE_INDEXES = `
  create index due on operations (owner, origin, reader, due) where due is not null;
  create index due_of_all on operations (origin, reader, due) where due is not null;`;

/** For a file that was made before there was a `reader`. An older samekey goes on working with it. */
const ADD_READER = `
  alter table operations add column reader text not null default '';
  update operations set reader = json_array(json_extract(record, '$.wire.profile'), name)
    where json_extract(record, '$.wire.profile') is not null;
  drop index due;
  drop index due_of_all;
  ${DUE_INDEXES}`;

/**
 * `record` is the whole record as JSON, but for its bodies; the columns beside it are for looking things up.
 *
 * - `held`: 1 holds its intent and key, 0 does not, 2 would, but another has taken them since
 * - `place`: NULL in no lane (or over), 0 in front of its lane, 1 parked
 * - `due`, `since`: see `scheduleOf`
 * - `holder`: of a lease that was not ended before its time
 * - `kept`, `bare`: since when it may be pruned, while it is whole and when only the memory of its intent is left
 * - `reader`: see `readerOf`
 *
 * `due` and `due_of_all` lead with what a claim may exclude, so that neither a million records of other owners nor a
 * million of an origin that is down are walked through; nor does a listing walk through what others own. Bodies have tables of their own, or every change of a record
 * would write them again.
 */
const TABLES = `
  create table operations (
    seq integer primary key,
    rev integer not null,
    id text not null,
    owner text not null,
    origin text not null,
    key text not null,
    name text not null,
    intent text,
    lane text,
    state text not null,
    held integer not null,
    place integer,
    due real,
    since real,
    holder text,
    kept real,
    bare real,
    reader text not null default '',
    record text not null
  ) strict;
  create unique index id on operations (id);
  create unique index key on operations (owner, origin, key) where held = 1;
  create unique index intent on operations (owner, name, intent) where held = 1 and intent is not null;
  create index freed on operations (owner, name, intent) where held <> 1 and intent is not null;
  create index overtaken on operations (owner) where held = 2;
  create index lane on operations (owner, lane, place) where place is not null;
  ${DUE_INDEXES}
  create index since on operations (since) where due is not null;
  create index holder on operations (holder) where holder is not null;
  create index listing on operations (owner, state, seq);
  create index listing_of_all on operations (state, seq);
  create index kept on operations (kept) where kept is not null;
  create index bare on operations (bare) where bare is not null;

  create table requests (seq integer primary key, body blob not null) strict;
  create table responses (seq integer primary key, body blob not null) strict;

  -- 'whose' is '=' and the owner, or '*' for all of them.
  create table counts (
    whose text not null, state text not null, n integer not null,
    primary key (whose, state)
  ) strict, without rowid;

  -- The highest seq that was ever removed: an order is not given away twice.
  create table removed (one integer primary key check (one = 1), seq integer not null) strict;
  insert into removed values (1, 0);
`;

/**
 * Which file this is, and when that was last said; see `Original`. Made when it is first written to: files that an older
 * samekey has made do not have it.
 */
export const ORIGINAL_TABLE = `
  create table if not exists original (
    one integer primary key check (one = 1),
    file text not null, token text not null, previous text not null, beside text not null, at real not null
  ) strict`;

const CREATE = `${TABLES}; pragma application_id = ${APPLICATION_ID}; pragma user_version = ${SCHEMA_VERSION}`;

function pragma(db: SqliteDatabase, name: string): unknown {
  return Object.values(db.prepare(`pragma ${name}`).get() as SqliteRow)[0];
}

/**
 * Makes the connection ours: recognises the file, sets what has to be set on every open, creates the tables.
 * Throws SQLite's own errors, `BUSY` among them; nothing is written to a file that is not ours.
 */
export function prepare(db: SqliteDatabase, path: string): void {
  db.exec(`pragma busy_timeout = ${BUSY_TIMEOUT}`);
  const fresh = isFresh(db, path);
  if (pragma(db, "journal_mode = wal") !== "wal") {
    const detail = `${path}: its file system does not support SQLite's write-ahead log. Choose a path on a local disk`;
    throw new StoreError("unavailable", { detail });
  }
  FAULT: if (fresh) faultPoint("open:wal");
  // A file that is in WAL mode already opens with NORMAL in common builds: a power cut would lose the last commits.
  db.exec("pragma synchronous = full");
  // The addon's own default is 16 MB, for a queue that is touched at its ends only.
  db.exec("pragma cache_size = -2000");
  // fsync on macOS leaves the data in the drive's cache. Of no effect elsewhere.
  db.exec("pragma fullfsync = on; pragma checkpoint_fullfsync = on; pragma journal_size_limit = 67108864");
  if (pragma(db, "synchronous") !== 2) throw new StoreError("unavailable", { detail: `${path}: cannot be synced` });
  if (fresh) change(db, () => isFresh(db, path), CREATE);
  else if (!hasReader(db)) change(db, () => !hasReader(db), ADD_READER);
}

/** In one transaction, unless another process has been faster. */
function change(db: SqliteDatabase, isNeeded: () => boolean, sql: string): void {
  db.exec("begin immediate");
  FAULT: faultPoint("migrate:begun");
  try {
    if (isNeeded()) {
      db.exec(sql);
      FAULT: faultPoint("migrate:tables");
    }
    FAULT: faultPoint("migrate:commit");
    db.exec("commit");
  } catch (error) {
    db.exec("rollback");
    throw error;
  }
  FAULT: faultPoint("migrate:committed");
}

/** Whether the file has nothing in it yet. Throws if what it has is not ours, or newer than we are. */
function isFresh(db: SqliteDatabase, path: string): boolean {
  const application = pragma(db, "application_id");
  if (application === 0 && db.prepare("select 1 from sqlite_schema limit 1").get() === undefined) return true;
  if (application !== APPLICATION_ID) {
    throw new StoreError("corrupt", { detail: `${path}: this is a database of another program` });
  }
  const version = Number(pragma(db, "user_version"));
  if (version > SCHEMA_VERSION) {
    const detail = `${path}: its schema is version ${version}, this samekey knows ${SCHEMA_VERSION}`;
    throw new StoreError("newer_schema", { detail });
  }
  refuseUnreleased(db, path);
  return false;
}

function hasReader(db: SqliteDatabase): boolean {
  return db.prepare("select 1 from pragma_table_info('operations') where name = 'reader'").get() !== undefined;
}

/** Before the first release the tables changed under one version. */
function refuseUnreleased(db: SqliteDatabase, path: string): void {
  try {
    db.prepare("select kept, bare from operations limit 0");
  } catch (cause) {
    if (sqliteCode(cause) !== "ERROR") throw cause;
    const detail = `${path}: its tables were made by a samekey from before the first release. Finish with that one what waits in it, then move the file away: a new one is made`;
    throw new StoreError("corrupt", { detail, cause });
  }
}
