/** The smaller verbs. */

import type { OperationRecord } from "../../core/record.js";
import type { Counts, PruneQuery } from "../../store.js";
import { pruneFrom, relieved } from "../stamp.js";
import { columnText } from "./rows.js";
import type { Transaction } from "./transaction.js";

export async function find(
  tx: Transaction,
  owner: string,
  name: string,
  intent: string,
): Promise<OperationRecord | undefined> {
  const same = "o.owner = $2 and o.name = $3 and o.intent = $4";
  const { operations } = tx.tables;
  return tx.record(
    `o.seq = (select max(seq) from (
      (select o.seq from ${operations} o where o.sdk = $1 and ${same} and o.held = 1) union all
      (select o.seq from ${operations} o where o.sdk = $1 and ${same} and o.held <> 1 order by o.seq desc limit 1)) l)`,
    columnText(owner),
    columnText(name),
    columnText(intent),
  );
}

export function head(tx: Transaction, owner: string, lane: string): Promise<OperationRecord | undefined> {
  return tx.record("o.owner = $2 and o.lane = $3 and o.place = 0", columnText(owner), columnText(lane));
}

export function prunable(tx: Transaction, query: PruneQuery): Promise<OperationRecord[]> {
  const since = query.bare ? "o.bare" : "o.kept";
  const from = `${since} < $2::float8 and (${since}, o.seq) > ($3::float8, $4::bigint)`;
  return tx.records(
    `${from} order by ${since}, o.seq limit $5::int`,
    query.settledBefore,
    ...pruneFrom(query),
    query.limit,
  );
}

export async function counts(tx: Transaction, owner: string | undefined): Promise<Counts> {
  const { counts: sums, deltas } = tx.tables;
  const rows = await tx.rows(
    `select state, sum(n)::text as n from (
      select state, n from ${sums} where sdk = $1 and whose = $2 union all
      select state, n from ${deltas} where sdk = $1 and whose = $2) c
    group by state having sum(n) > 0`,
    owner === undefined ? "*" : `=${columnText(owner)}`,
  );
  return Object.fromEntries(rows.map(({ state, n }) => [state, Number(n)])) as Counts;
}

export async function relieve(tx: Transaction, isDead: (holder: string) => boolean): Promise<number> {
  const { operations } = tx.tables;
  const rows = await tx.rows(`select distinct holder from ${operations} where sdk = $1 and holder is not null`);
  const dead = rows.map(({ holder }) => JSON.parse(`"${holder}"`) as string).filter(isDead);
  if (dead.length === 0) return 0;
  const orphans = await tx.records(
    "o.holder in (select json_array_elements_text($2::text::json)) order by o.id for update of o",
    JSON.stringify(dead.map(columnText)),
  );
  for (const record of orphans) await tx.replace(record, relieved(record));
  return orphans.length;
}
