/** Listing. */

import type { OperationRecord } from "../../core/record.js";
import { STATES } from "../../core/record.js";
import type { PageFilter } from "../../store.js";
import { columnText, recordOf, WHOLE } from "./rows.js";
import type { Transaction } from "./transaction.js";

/**
 * Each state on its own; of all that are found, the first. Rows are compared, rather than the state and the order: that
 * keeps Postgres to an index that has both, where it would go through all states by `seq` for a rare one.
 */
export async function page(tx: Transaction, filter: PageFilter): Promise<readonly OperationRecord[]> {
  const { limit = 100, after = 0 } = filter;
  const states = STATES.filter((state) => filter.states?.includes(state) ?? true);
  if (states.length === 0 || limit <= 0) return [];
  const values: unknown[] = [after, limit];
  const more = conditions(filter, values);
  const arms = states.map(
    (state) => `(select ${WHOLE} from ${tx.tables.operations} o where o.sdk = $1 ${more}
      and (o.state, o.seq) > ('${state}', $2::bigint) and (o.state, o.seq) <= ('${state}', ${Number.MAX_SAFE_INTEGER})
      order by o.state, o.seq limit $3::int)`,
  );
  const sql = `select * from (${arms.join(" union all ")}) p order by p.seq::bigint limit $3::int`;
  return (await tx.rows(sql, ...values)).map(recordOf);
}

/** What else is asked for; adds to the values. */
function conditions({ owner, name, intent, lane }: PageFilter, values: unknown[]): string {
  const texts = Object.entries({ owner, name, intent, lane }).map(([column, value]) =>
    value === undefined ? "" : `and o.${column} = $${values.push(columnText(value)) + 1}::text`,
  );
  return texts.join(" ");
}
