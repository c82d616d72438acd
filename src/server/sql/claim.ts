import { quoteIdentifier, quoteLiteral } from "./identifier.js";
import { admittedAhead, opaque, type Partition } from "./partitions.js";

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
 * It looks before it reads the marks: a partition that has gone by then is below `dropped_through` by then.
 *
 * Answers with a word, or with the stored answer as JSON: one plain value costs a new key, which carries none, half of
 * what a row of columns does. plpgsql sets up every expression anew in every transaction, hence the one that gives the word;
 * and a statement that compares parameters may be planned anew at every call, hence none does but the looks.
 *
 * The window is the schema's, not the caller's: servers of several settings agree on what has expired, so that what was
 * answered 410 once stays so.
 *
 * @param partitions - Those that there are. Each has a look of its own, bounded by constants, so that the plan which
 * Postgres keeps for it knows, and locks, that partition alone: a plan for any key would lock every partition at each
 * claim. Between them there is one for any other key, whatever partitions come to be. `p_minted` is when a v7 key was
 * minted, ms since 1970, and null for any other; `p_idle` how long the transaction may idle, ms.
 */
export function claimSql(schema: string, partitions: readonly Partition[]): string {
  const s = quoteIdentifier(schema);
  const look = (bounds: string): string =>
    `SELECT k.fingerprint, k.status, k.headers, k.body, k.body_omitted, k.created_at, k.expired_at
      INTO r FROM ${s}.keys k WHERE k.tenant = p_tenant AND k.scope = p_scope AND k.key = p_key${bounds};`;
  const body = `
DECLARE
  locked boolean := pg_try_advisory_xact_lock(${keyLockSql(schema, "p_tenant", "p_scope", "p_key")});
  idle text := set_config('idle_in_transaction_session_timeout', p_idle, true);
  r record;
  m record;
  answer text;
BEGIN
  ${choiceSql(rangesOf(partitions), look)}
  SELECT version, window_ms, horizon, dropped_through, floor(extract(epoch FROM ${s}.clock()) * 1000)::bigint AS now_ms
    INTO STRICT m FROM ${s}.meta;
  answer := CASE
    WHEN m.version <> p_version THEN 'version'
    WHEN p_minted < m.now_ms - m.window_ms OR p_key < m.dropped_through THEN 'expired'
    WHEN r.fingerprint IS NULL THEN CASE
      WHEN p_minted >= m.now_ms + ${admittedAhead} THEN 'beyond'
      -- Its partition was never made. The caller makes it and looks again.
      WHEN p_minted IS NOT NULL AND p_key >= m.horizon THEN 'lagging'
      WHEN locked THEN 'new'
      ELSE 'busy' END
    WHEN p_minted IS NULL
      AND (r.expired_at IS NOT NULL OR extract(epoch FROM r.created_at) * 1000 < m.now_ms - m.window_ms) THEN 'expired'
    WHEN r.fingerprint <> p_fingerprint THEN 'mismatch'
    ELSE 'replay' END;
  IF answer = 'replay' THEN
    RETURN json_build_object('status', r.status, 'headers', r.headers::json, 'body', encode(r.body, 'base64'),
      'omitted', r.body_omitted);
  END IF;
  RETURN answer;
END
`;
  return `
CREATE OR REPLACE FUNCTION ${s}.claim(p_tenant text, p_scope text, p_key text, p_minted bigint, p_fingerprint bytea,
  p_version integer, p_idle text)
RETURNS text LANGUAGE plpgsql VOLATILE AS ${quoteLiteral(body)};`;
}

/** Stored keys from a bound on, and what a look for one of them is bounded by: nothing where no partition is known. */
interface Range {
  readonly from: string;
  readonly bounds: string;
}

/** All stored keys, in ranges from the lowest to the highest. */
function rangesOf(partitions: readonly Partition[]): Range[] {
  const ranges: Range[] = [{ from: "", bounds: "" }];
  for (const { from, to } of [...partitions, opaque].toSorted((a, b) => (a.from < b.from ? -1 : 1))) {
    if (ranges.at(-1)?.from === from) ranges.pop();
    ranges.push({ from, bounds: ` AND k.key >= ${boundSql(from)} AND k.key < ${boundSql(to)}` });
    ranges.push({ from: to, bounds: "" });
  }
  return ranges;
}

/** The look for the range that a key is in, found by halving. */
function choiceSql(ranges: readonly Range[], look: (bounds: string) => string): string {
  const half = ranges.length >> 1;
  const upper = ranges[half];
  if (upper === undefined || half === 0) return look(ranges[0]?.bounds ?? "");
  return `IF p_key < ${boundSql(upper.from)} THEN
    ${choiceSql(ranges.slice(0, half), look)}
  ELSE
    ${choiceSql(ranges.slice(half), look)}
  END IF;`;
}

const boundSql = (bound: string): string => `${quoteLiteral(bound)} COLLATE "C"`;
