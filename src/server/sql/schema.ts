import { quoteIdentifier, quoteLiteral } from "./identifier.js";

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
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant, scope, key)
) PARTITION BY RANGE (key);
CREATE TABLE ${s}.keys_opaque PARTITION OF ${s}.keys FOR VALUES FROM ('o') TO ('p');

${claimSql(schema)}`;
}

/**
 * Takes the key's lock and looks, in one trip. It must be volatile and in plpgsql: each statement then sees what was
 * committed when that statement began, so the look sees whatever the lock's last holder left.
 *
 * Looking even when the lock was missed is what keeps sixteen replays of a finished key from being told "busy".
 */
function claimSql(schema: string): string {
  const s = quoteIdentifier(schema);
  return `
CREATE FUNCTION ${s}.claim(p_tenant text, p_scope text, p_key text, p_fingerprint bytea, p_window_ms bigint,
  OUT verdict text, OUT lagging boolean, OUT stored_status smallint, OUT stored_headers text, OUT stored_body bytea)
LANGUAGE plpgsql VOLATILE AS $claim$
DECLARE
  now_ms bigint := floor(extract(epoch FROM clock_timestamp()) * 1000);
  locked boolean;
  m record;
  r record;
BEGIN
  SELECT horizon, dropped_through INTO m FROM ${s}.meta;
  lagging := m.horizon < '7' || lpad(to_hex(now_ms + 86400000), 12, '0');
  IF p_key < '8' COLLATE "C" THEN
    IF p_key < m.dropped_through OR p_key < ('7' || lpad(to_hex(now_ms - p_window_ms), 12, '0')) COLLATE "C" THEN
      verdict := 'expired';
      RETURN;
    ELSIF p_key >= m.horizon THEN
      verdict := 'beyond';
      RETURN;
    END IF;
  END IF;
  locked := pg_try_advisory_xact_lock(hashtextextended(p_key COLLATE "C", hashtextextended(p_scope COLLATE "C",
    hashtextextended(p_tenant COLLATE "C", hashtextextended(${quoteLiteral(schema)} COLLATE "C", 7)))));
  SELECT k.fingerprint, k.status, k.headers, k.body, k.created_at INTO r
    FROM ${s}.keys k WHERE k.tenant = p_tenant AND k.scope = p_scope AND k.key = p_key;
  IF NOT FOUND THEN
    verdict := CASE WHEN locked THEN 'new' ELSE 'busy' END;
  ELSIF p_key >= '8' COLLATE "C" AND extract(epoch FROM r.created_at) * 1000 < now_ms - p_window_ms THEN
    verdict := 'expired';
  ELSIF r.fingerprint <> p_fingerprint THEN
    verdict := 'mismatch';
  ELSE
    verdict := 'replay';
    stored_status := r.status;
    stored_headers := r.headers;
    stored_body := r.body;
  END IF;
END
$claim$;
`;
}
