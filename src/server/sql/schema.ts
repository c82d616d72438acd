import { quoteIdentifier, quoteLiteral } from "./identifier.js";
import { keyBound, opaque, startOfDay } from "./partitions.js";

/** What a migration is made for. Times in ms. */
export interface MigrationContext {
  readonly schema: string;
  /** How old a key may be. */
  readonly window: number;
  /** The database's time, ms since 1970. */
  readonly now: number;
}

/** The SQL that brings a schema from one version to the next. */
export type Migration = (context: MigrationContext) => string;

/**
 * From nothing to version 1, from there to 2, and so on. Their number is the version that this code works with. What
 * was released is never changed, only followed.
 */
export const migrations: readonly Migration[] = [initial];

/**
 * The primary key is what makes a key unique, across all partitions: it can, because the table is partitioned by the
 * key itself, whose v7 form begins with its time.
 */
function initial({ schema, window, now }: MigrationContext): string {
  const s = quoteIdentifier(schema);
  const start = quoteLiteral(keyBound(startOfDay(now - window)));
  return `
-- All times come from here.
CREATE FUNCTION ${s}.clock() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT clock_timestamp()';

-- One row. Partitions hold every v7 key from dropped_through to horizon; keys below are gone for ever, keys from
-- horizon on have no partition yet. Answers are kept for window_ms; those stored before narrowed_at for widest_ms.
CREATE TABLE ${s}.meta (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  version integer NOT NULL,
  window_ms bigint NOT NULL,
  widest_ms bigint NOT NULL DEFAULT 0,
  narrowed_at timestamptz NOT NULL DEFAULT '-infinity',
  horizon text COLLATE "C" NOT NULL,
  dropped_through text COLLATE "C" NOT NULL
);
INSERT INTO ${s}.meta (version, window_ms, horizon, dropped_through) VALUES (1, ${window}, ${start}, ${start});

CREATE TABLE ${s}.keys (
  tenant text COLLATE "C" NOT NULL CHECK (tenant <> ''),
  scope text COLLATE "C" NOT NULL CHECK (scope <> ''),
  key text COLLATE "C" NOT NULL,
  fingerprint bytea NOT NULL,
  status smallint NOT NULL,
  headers text NOT NULL,
  body bytea,
  body_omitted boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT ${s}.clock(),
  -- Of opaque keys alone: since when the answer is gone, and only the key is remembered.
  expired_at timestamptz,
  PRIMARY KEY (tenant, scope, key)
) PARTITION BY RANGE (key);
CREATE TABLE ${s}.keys_opaque PARTITION OF ${s}.keys FOR VALUES FROM ('${opaque.from}') TO ('${opaque.to}');
CREATE INDEX keys_opaque_created_at ON ${s}.keys_opaque (created_at) WHERE expired_at IS NULL;
CREATE INDEX keys_opaque_expired_at ON ${s}.keys_opaque (expired_at) WHERE expired_at IS NOT NULL;`;
}
