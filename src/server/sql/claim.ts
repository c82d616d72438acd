import { quoteIdentifier, quoteLiteral } from "./identifier.js";
import { admittedAhead, keyBoundSql, opaque, type Partition } from "./partitions.js";

/** The number of a key's advisory lock: a hash of schema, tenant, scope and key, from the expressions that yield them. */
export function keyLockSql(schema: string, tenant: string, scope: string, key: string): string {
  return [key, scope, tenant].reduceRight(
    (seed, part) => `hashtextextended(${part} COLLATE "C", ${seed})`,
    `hashtextextended(${quoteLiteral(schema)} COLLATE "C", 0)`,
  );
}

/**
 * Takes the key's lock and looks, in one trip. Volatile and in plpgsql, because each of its statements then sees what
 * was committed when that statement began: the look sees whatever the lock's last holder left.
 *
 * It looks even when the lock was missed; that is what keeps sixteen replays of a finished key from being told "busy".
 *
 * Answers with a word, or with the stored answer as JSON: one plain value costs a new key, which carries none, half of
 * what a row of columns does.
 *
 * The window is the schema's, not the caller's: servers of several settings agree on what has expired, so that what was
 * answered 410 once stays so.
 *
 * @param partitions - Those that there are. Each has a look of its own, bounded by constants, so that the plan which
 * Postgres keeps for it knows, and locks, that partition alone: a plan for any key would lock every partition at each
 * claim. The last look is for any other key, whatever partitions come to be.
 */
export function claimSql(schema: string, partitions: readonly Partition[]): string {
  const s = quoteIdentifier(schema);
  const look = (
    bounds: string,
  ): string => `SELECT k.fingerprint, k.status, k.headers, k.body, k.body_omitted, k.created_at, k.expired_at
      INTO r FROM ${s}.keys k WHERE k.tenant = p_tenant AND k.scope = p_scope AND k.key = p_key${bounds};`;
  const newestFirst = [opaque, ...partitions.toSorted((a, b) => (a.from < b.from ? 1 : -1))];
  const looks = newestFirst.map(({ from, to }, index) => {
    const [low, high] = [from, to].map((bound) => `${quoteLiteral(bound)} COLLATE "C"`);
    return `${index > 0 ? "ELSIF" : "IF"} p_key >= ${low} AND p_key < ${high} THEN
    ${look(` AND k.key >= ${low} AND k.key < ${high}`)}`;
  });
  const body = `
DECLARE
  now_ms bigint := floor(extract(epoch FROM ${s}.clock()) * 1000);
  v7 boolean := p_key < '8' COLLATE "C";
  locked boolean := pg_try_advisory_xact_lock(${keyLockSql(schema, "p_tenant", "p_scope", "p_key")});
  m record;
  r record;
BEGIN
  SELECT version, window_ms, horizon, dropped_through INTO STRICT m FROM ${s}.meta;
  IF m.version <> p_version THEN
    RETURN 'version';
  ELSIF v7 AND (p_key < m.dropped_through OR p_key < ${keyBoundSql("now_ms - m.window_ms")}) THEN
    RETURN 'expired';
  END IF;
  ${looks.join("\n  ")}
  ELSE
    ${look("")}
  END IF;
  IF NOT FOUND THEN
    IF v7 AND p_key >= ${keyBoundSql(`now_ms + ${admittedAhead}`)} THEN
      RETURN 'beyond';
    ELSIF v7 AND p_key >= m.horizon THEN
      -- Its partition was never made. The caller makes it and looks again.
      RETURN 'lagging';
    END IF;
    RETURN CASE WHEN locked THEN 'new' ELSE 'busy' END;
  ELSIF NOT v7 AND (r.expired_at IS NOT NULL OR extract(epoch FROM r.created_at) * 1000 < now_ms - m.window_ms) THEN
    RETURN 'expired';
  ELSIF r.fingerprint <> p_fingerprint THEN
    RETURN 'mismatch';
  END IF;
  RETURN json_build_object('status', r.status, 'headers', r.headers::json, 'body', encode(r.body, 'base64'),
    'omitted', r.body_omitted);
END
`;
  return `
CREATE OR REPLACE FUNCTION ${s}.claim(p_tenant text, p_scope text, p_key text, p_fingerprint bytea, p_version integer)
RETURNS text LANGUAGE plpgsql VOLATILE AS ${quoteLiteral(body)};`;
}
