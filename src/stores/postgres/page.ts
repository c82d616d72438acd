/** Listing. */

import type { OperationRecord, State } from "../../core/record.js";
import { hasOutcome, STATES } from "../../core/record.js";
import type { PageFilter } from "../../store.js";
import { columnText, recordOf, WHOLE } from "./rows.js";
import type { Transaction } from "./transaction.js";

/** So many that were settled before a time are put in order; of more, each step in the order of all finds enough. */
const FEW = 10_000;

export async function page(tx: Transaction, filter: PageFilter): Promise<readonly OperationRecord[]> {
  const { limit = 100, settledBefore } = filter;
  const states = STATES.filter((state) => {
    if (settledBefore !== undefined && !hasOutcome({ state })) return false;
    return filter.states?.includes(state) ?? true;
  });
  if (states.length === 0 || limit <= 0) return [];
  const rows = (await isRare(tx, filter))
    ? await byTime(tx, filter, states, limit)
    : await bySeq(tx, filter, states, limit);
  return rows.map(recordOf);
}

/** What was settled before `$2`, by the index on that. */
const SETTLED = "o.sdk = $1 and o.settled < $2::float8";

/** Whether few were settled before the time in question, if there is one. */
async function isRare(tx: Transaction, { settledBefore }: PageFilter): Promise<boolean> {
  if (settledBefore === undefined) return false;
  const [row] = await tx.rows(
    `select count(*)::text as n from (
      select from ${tx.tables.operations} o where ${SETTLED} order by o.settled limit ${FEW}) few`,
    settledBefore,
  );
  return Number(row?.["n"]) < FEW;
}

/** All that were settled before; then put in order. */
function byTime(tx: Transaction, filter: PageFilter, states: readonly State[], limit: number) {
  const values: unknown[] = [filter.settledBefore, filter.after ?? 0, limit, JSON.stringify(states)];
  const sql = `
    with few as materialized (
      select o.seq from ${tx.tables.operations} o where ${SETTLED} and o.seq > $3::bigint
      and o.state in (select json_array_elements_text($5::text::json))
      ${conditions({ ...filter, settledBefore: undefined }, values)} order by o.settled limit ${FEW}
    )
    select ${WHOLE} from ${tx.tables.operations} o
    where o.seq in (select seq from few order by seq limit $4::int) order by o.seq`;
  return tx.rows(sql, ...values);
}

/**
 * Each state on its own; of all that are found, the first. Rows are compared, rather than the state and the order: that
 * keeps Postgres to an index that has both, where it would go through all states by `seq` for a rare one.
 */
function bySeq(tx: Transaction, filter: PageFilter, states: readonly State[], limit: number) {
  const values: unknown[] = [filter.after ?? 0, limit];
  const more = conditions(filter, values);
  const arms = states.map(
    (state) => `(select ${WHOLE} from ${tx.tables.operations} o where o.sdk = $1 ${more}
      and (o.state, o.seq) > ('${state}', $2::bigint) and (o.state, o.seq) <= ('${state}', ${Number.MAX_SAFE_INTEGER})
      order by o.state, o.seq limit $3::int)`,
  );
  return tx.rows(`select * from (${arms.join(" union all ")}) p order by p.seq::bigint limit $3::int`, ...values);
}

/** What else is asked for; adds to the values. */
function conditions({ owner, name, intent, lane, settledBefore }: PageFilter, values: unknown[]): string {
  const texts = Object.entries({ owner, name, intent, lane }).map(([column, value]) =>
    value === undefined ? "" : `and o.${column} = $${values.push(columnText(value)) + 1}::text`,
  );
  const before = settledBefore === undefined ? "" : `and o.settled < $${values.push(settledBefore) + 1}::float8`;
  return [...texts, before].join(" ");
}
