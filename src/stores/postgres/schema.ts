/** The tables, and how they come to be. */

import { faultPoint } from "../../core/fault-point.js";
import { StoreError } from "../../errors.js";
import type { Session } from "./driver.js";
import { PostgresFailure } from "./failure.js";

/** Raised only when an older samekey could no longer work with the tables. */
export const SCHEMA_VERSION = 1;
const UNDEFINED_COLUMN = "42703";

/** The tables of one schema, quoted, and the sdk whose rows are meant. */
export interface Tables {
  /** As the program names it. */
  readonly schema: string;
  readonly sdk: string;
  readonly meta: string;
  readonly operations: string;
  readonly counts: string;
  readonly deltas: string;
  /** Tables that an older samekey made have no such column, and are left as they are: what it excludes is walked past there. */
  readonly hasReader: boolean;
}

export function tablesOf(schema: string, sdk: string): Tables {
  const quoted = quote(schema);
  return {
    schema,
    sdk,
    meta: `${quoted}.operations_meta`,
    operations: `${quoted}.operations`,
    counts: `${quoted}.operation_counts`,
    deltas: `${quoted}.operation_deltas`,
    hasReader: true,
  };
}

/**
 * `record` is the whole record as JSON, but for its bodies; the columns beside it are for looking things up. Texts in
 * them are escaped as in JSON, since Postgres keeps neither NUL nor half a surrogate pair.
 *
 * - `held`: 1 holds its intent and key, 0 does not, 2 would, but another has taken them since
 * - `place`: NULL in no lane (or over), 0 in front of its lane, 1 parked
 * - `due`, `since`: see `scheduleOf`
 * - `holder`: of a lease that was not ended before its time
 * - `kept`, `bare`: since when it may be pruned, while it is whole and when only the memory of its intent is left
 * - `reader`: see `readerOf`
 *
 * The indexes by time lead with what a claim may exclude, so that neither a million records of other owners nor a million
 * of an origin that is down are walked through. What is counted is written as differences and added up now and then: a
 * row per state would make all writers wait for each other. The tables are changed all the time, so they are vacuumed
 * before a fifth of them is dead.
 */
const tablesSql = ({ meta, operations, counts, deltas }: Tables): string => `
create table ${meta} (one boolean primary key default true check (one), version integer not null);
insert into ${meta} (version) values (${SCHEMA_VERSION});

create table ${operations} (
  seq bigint generated always as identity primary key,
  sdk text collate "C" not null,
  rev integer not null,
  id text collate "C" not null,
  owner text collate "C" not null,
  origin text collate "C" not null,
  key text collate "C" not null,
  name text collate "C" not null,
  intent text collate "C",
  lane text collate "C",
  state text collate "C" not null,
  held smallint not null,
  place smallint,
  due double precision,
  since double precision,
  holder text collate "C",
  kept double precision,
  bare double precision,
  reader text collate "C" not null default '',
  record text not null,
  request bytea,
  response bytea
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
create unique index operations_id on ${operations} (sdk, id);
create unique index operations_key on ${operations} (sdk, owner, origin, key) where held = 1;
create unique index operations_intent on ${operations} (sdk, owner, name, intent) where held = 1 and intent is not null;
create unique index operations_front on ${operations} (sdk, owner, lane) where place = 0;
create index operations_parked on ${operations} (sdk, owner, lane, seq) where place = 1;
create index operations_freed on ${operations} (sdk, owner, name, intent, seq) where held <> 1 and intent is not null;
create index operations_overtaken on ${operations} (sdk, owner) where held = 2;
create index operations_due on ${operations} (sdk, owner, origin, reader, due, seq) where due is not null;
create index operations_due_of_all on ${operations} (sdk, origin, reader, due, seq) where due is not null;
create index operations_since on ${operations} (since, seq) where due is not null;
create index operations_holder on ${operations} (sdk, holder) where holder is not null;
create index operations_listing on ${operations} (sdk, owner, state, seq);
create index operations_listing_of_all on ${operations} (sdk, state, seq);
create index operations_kept on ${operations} (sdk, kept, seq) where kept is not null;
create index operations_bare on ${operations} (sdk, bare, seq) where bare is not null;

-- "whose" is '=' and the owner, or '*' for all of them. What there is of it: counts and deltas, added up.
create table ${counts} (
  sdk text collate "C", whose text collate "C", state text collate "C", n bigint not null,
  primary key (sdk, whose, state)
);
create table ${deltas} (
  id bigint generated always as identity primary key,
  sdk text collate "C" not null, whose text collate "C" not null, state text collate "C" not null, n bigint not null
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05);
create index operation_deltas_whose on ${deltas} (sdk, whose);
`;

/**
 * Creates the tables where there are none: one transaction, under a lock, so that any number of processes may open at
 * once. Where they exist nothing is asked but the right to use them.
 *
 * @returns the tables as they are
 * @throws StoreError `newer_schema`; PostgresFailure
 */
export async function prepare(session: Session, tables: Tables): Promise<Tables> {
  const found = await versionOf(session, tables);
  if (found === undefined) await create(session, tables);
  else refuseNewer(found, tables);
  const { rows } = await session.query(
    "select 1 from pg_catalog.pg_attribute where attrelid = $1::text::regclass and attname = 'reader' and not attisdropped",
    tables.operations,
  );
  return { ...tables, hasReader: rows.length > 0 };
}

async function create(session: Session, tables: Tables): Promise<void> {
  await session.query("begin isolation level read committed read write");
  try {
    // The server half makes its own tables, perhaps in the same schema, under the same lock.
    await session.query("select pg_advisory_xact_lock(hashtextextended($1::text, 71))", tables.schema);
    FAULT: faultPoint("migrate:begun");
    const found = await versionOf(session, tables);
    if (found !== undefined) refuseNewer(found, tables);
    else {
      const { rows } = await session.query("select 1 from pg_catalog.pg_namespace where nspname = $1", tables.schema);
      // Where it exists, the right to make one is not needed.
      if (rows.length === 0) await session.query(`create schema ${quote(tables.schema)}`);
      FAULT: faultPoint("migrate:schema");
      await session.query(tablesSql(tables));
      FAULT: faultPoint("migrate:tables");
    }
    FAULT: faultPoint("migrate:commit");
    await session.query("commit");
  } catch (error) {
    await session.query("rollback").catch(() => {});
    throw error;
  }
  FAULT: faultPoint("migrate:committed");
}

/** Looked up in the catalog: `to_regclass` may answer from a cache in which what another has just made is not there. */
async function versionOf(session: Session, tables: Tables): Promise<number | undefined> {
  const { schema } = tables;
  const { rows } = await session.query(
    `select 1 as present from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
     where n.nspname = $1::text and c.relname = 'operations_meta'`,
    schema,
  );
  if (rows.length === 0) return undefined;
  return readVersion(session, tables);
}

/** @throws StoreError `corrupt` for tables from before the first release, which changed under one version */
async function readVersion(session: Session, { schema, meta, operations }: Tables): Promise<number> {
  const columns = `(select kept, bare from ${operations} limit 0) as operations`;
  try {
    const { rows } = await session.query(`select version from ${meta} left join ${columns} on true`);
    return Number(rows[0]?.["version"]);
  } catch (cause) {
    if (!(cause instanceof PostgresFailure) || cause.state !== UNDEFINED_COLUMN) throw cause;
    const detail = `schema ${JSON.stringify(schema)}: its tables of operations were made by a samekey from before the first release. Finish with that one what waits in them, then drop operations, operations_meta, operation_counts and operation_deltas: new ones are made`;
    throw new StoreError("corrupt", { detail, cause });
  }
}

function refuseNewer(version: number, { schema }: Tables): void {
  if (version <= SCHEMA_VERSION) return;
  const detail = `schema ${JSON.stringify(schema)}: its operations are version ${version}, this samekey knows ${SCHEMA_VERSION}`;
  throw new StoreError("newer_schema", { detail });
}

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
