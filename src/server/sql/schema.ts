import { quoteIdentifier, quoteLiteral } from "./identifier.js";

const day = 86_400_000;

/** Raised with every change of the statements below. */
export const schemaVersion = 1;

/**
 * The schema, in one transaction. The primary key is what makes a key unique, across all partitions: it can, because
 * the table is partitioned by the key itself, whose v7 form begins with its time.
 */
export function schemaSql(schema: string): string {
  const s = quoteIdentifier(schema);
  return `
CREATE SCHEMA IF NOT EXISTS ${s};

-- One row. Keys below dropped_through are gone for ever; keys from horizon on have no partition yet.
CREATE TABLE ${s}.meta (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  version integer NOT NULL,
  horizon text COLLATE "C" NOT NULL,
  dropped_through text COLLATE "C" NOT NULL
);
INSERT INTO ${s}.meta (version, horizon, dropped_through) VALUES (${schemaVersion}, '7', '7');

CREATE TABLE ${s}.keys (
  tenant text COLLATE "C" NOT NULL CHECK (tenant <> ''),
  scope text COLLATE "C" NOT NULL CHECK (scope <> ''),
  key text COLLATE "C" NOT NULL,
  fingerprint bytea NOT NULL,
  status smallint NOT NULL,
  headers text NOT NULL,
  body bytea,
  body_omitted boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant, scope, key)
) PARTITION BY RANGE (key);
CREATE TABLE ${s}.keys_opaque PARTITION OF ${s}.keys FOR VALUES FROM ('o') TO ('p');

${claimSql(schema)}`;
}

/**
 * Takes the key's lock and looks, in one trip. Volatile and in plpgsql, because each of its statements then sees what
 * was committed when that statement began: the look sees whatever the lock's last holder left.
 *
 * It looks even when the lock was missed; that is what keeps sixteen replays of a finished key from being told "busy".
 *
 * Answers with a word, or with the stored answer as JSON: one plain value costs a new key, which carries none, half of
 * what a row of columns does. For the same reason a new key is only known not to exist, not fetched.
 */
function claimSql(schema: string): string {
  const s = quoteIdentifier(schema);
  const lock = ["p_key", "p_scope", "p_tenant"].reduceRight(
    (seed, part) => `hashtextextended(${part} COLLATE "C", ${seed})`,
    `hashtextextended(${quoteLiteral(schema)} COLLATE "C", 0)`,
  );
  const body = `
DECLARE
  now_ms bigint := floor(extract(epoch FROM clock_timestamp()) * 1000);
  v7 boolean := p_key < '8' COLLATE "C";
  locked boolean := pg_try_advisory_xact_lock(${lock});
  m record;
  r record;
BEGIN
  SELECT horizon, dropped_through, EXISTS (
      SELECT FROM ${s}.keys k WHERE k.tenant = p_tenant AND k.scope = p_scope AND k.key = p_key) AS present
    INTO STRICT m FROM ${s}.meta;
  IF v7 AND (p_key < m.dropped_through OR p_key < ('7' || lpad(to_hex(now_ms - p_window_ms), 12, '0')) COLLATE "C") THEN
    RETURN 'expired';
  ELSIF v7 AND p_key >= m.horizon THEN
    -- Some partitions must lie ahead. Where they do not, the caller makes them and looks again.
    RETURN CASE WHEN m.horizon < ('7' || lpad(to_hex(now_ms + ${day}), 12, '0')) COLLATE "C" THEN 'lagging' ELSE 'beyond' END;
  ELSIF NOT m.present THEN
    RETURN CASE WHEN locked THEN 'new' ELSE 'busy' END;
  END IF;
  SELECT k.fingerprint, k.status, k.headers, k.body, k.body_omitted, k.created_at INTO STRICT r
    FROM ${s}.keys k WHERE k.tenant = p_tenant AND k.scope = p_scope AND k.key = p_key;
  IF NOT v7 AND extract(epoch FROM r.created_at) * 1000 < now_ms - p_window_ms THEN
    RETURN 'expired';
  ELSIF r.fingerprint <> p_fingerprint THEN
    RETURN 'mismatch';
  END IF;
  RETURN json_build_object('status', r.status, 'headers', r.headers::json, 'body', encode(r.body, 'base64'),
    'omitted', r.body_omitted);
END
`;
  return `
CREATE FUNCTION ${s}.claim(p_tenant text, p_scope text, p_key text, p_fingerprint bytea, p_window_ms bigint)
RETURNS text LANGUAGE plpgsql VOLATILE AS ${quoteLiteral(body)};
`;
}
