/** Listing. */

import type { OperationRecord } from "../../core/record.js";
import { hasOutcome, STATES } from "../../core/record.js";
import type { PageFilter } from "../../store.js";
import { columnText, recordOf, WHOLE } from "./rows.js";
import type { Transaction } from "./transaction.js";

/** Each state on its own, by an index that is in order; of all that are found, the first. */
export async function page(tx: Transaction, filter: PageFilter): Promise<readonly OperationRecord[]> {
  const { limit = 100, after = 0, settledBefore } = filter;
  const states = STATES.filter((state) => {
    if (settledBefore !== undefined && !hasOutcome({ state })) return false;
    return filter.states?.includes(state) ?? true;
  });
  if (states.length === 0 || limit <= 0) return [];
  const values: unknown[] = [after, limit];
  const given = (value: unknown): string => `$${values.push(value) + 1}`;
  const text = (column: string, value: string | undefined): string =>
    value === undefined ? "" : `and o.${column} = ${given(columnText(value))}::text`;
  const conditions = [
    text("owner", filter.owner),
    text("name", filter.name),
    text("intent", filter.intent),
    text("lane", filter.lane),
    settledBefore === undefined ? "" : `and o.settled < ${given(settledBefore)}::float8`,
  ].join(" ");
  const arms = states.map(
    (state) => `(select ${WHOLE} from ${tx.tables.operations} o
      where o.sdk = $1 and o.state = '${state}' and o.seq > $2::bigint ${conditions} order by o.seq limit $3::int)`,
  );
  const rows = await tx.rows(
    `select * from (${arms.join(" union all ")}) p order by p.seq::bigint limit $3::int`,
    ...values,
  );
  return rows.map(recordOf);
}
