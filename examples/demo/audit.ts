import type { Pool } from "pg";
import { isReturned, type Transfer } from "./plan.js";

/** What stands in the bank's own databases. */
export interface Audit {
  readonly entries: number;
  /** Entries beyond one on each side of each transfer, and entries that belong to no transfer. */
  readonly duplicates: number;
  /** Transfers that lack an entry on either side. */
  readonly lost: number;
  /** Accounts whose balance is not what the plan makes it. */
  readonly wrongBalances: number;
  /** Transfers that were paid in on another shard than they were taken from. */
  readonly credits: number;
  /** Transfers that came back. */
  readonly returned: number;
}

/** Balances by account. */
export async function balances(shards: readonly Pool[]): Promise<Map<number, number>> {
  const rows = await ofAll<{ id: number; balance: number }>(shards, "SELECT id::float8, balance::float8 FROM accounts");
  return new Map(rows.map(({ id, balance }) => [id, balance]));
}

/** Money that was taken on one shard and has neither arrived on another nor come back. */
export async function moneyUnderWay(shards: readonly Pool[]): Promise<number> {
  const rows = await ofAll<{ left: number }>(
    shards,
    `SELECT coalesce(sum(CASE kind WHEN 'transfer_out' THEN amount ELSE -amount END), 0)::float8 AS left
       FROM ledger_entries`,
  );
  return sum(rows.map(({ left }) => left));
}

/** Compares the ledgers with the plan, entry by entry, and the balances with both. */
export async function audit(
  shards: readonly Pool[],
  transfers: readonly Transfer[],
  before: ReadonlyMap<number, number>,
): Promise<Audit> {
  const rows = await ofAll<{ entry: string; n: number }>(
    shards,
    "SELECT concat_ws(' ', kind, account, amount) AS entry, count(*)::int AS n FROM ledger_entries GROUP BY 1",
  );
  const found = new Map(rows.map(({ entry, n }) => [entry, n]));
  const sides = transfers.map((transfer) => {
    const { src, dst, amount } = transfer;
    const end = isReturned(transfer) ? `transfer_back ${src} ${amount}` : `transfer_in ${dst} ${amount}`;
    return [found.get(`transfer_out ${src} ${amount}`) ?? 0, found.get(end) ?? 0];
  });
  const entries = sum([...found.values()]);
  const once = sides.flat().filter((n) => n > 0).length;

  const expected = new Map(before);
  const move = (account: number, amount: number) => expected.set(account, (expected.get(account) ?? 0) + amount);
  for (const transfer of transfers.filter((one) => !isReturned(one))) {
    move(transfer.src, -transfer.amount);
    move(transfer.dst, transfer.amount);
  }
  const after = await balances(shards);
  const credits = await ofAll<{ refused: boolean }>(shards, "SELECT refusal IS NOT NULL AS refused FROM credits");
  return {
    entries,
    duplicates: entries - once,
    lost: sides.filter((side) => side.includes(0)).length,
    wrongBalances: [...expected].filter(([account, balance]) => after.get(account) !== balance).length,
    credits: credits.filter(({ refused }) => !refused).length,
    returned: rows.filter(({ entry }) => entry.startsWith("transfer_back")).reduce((all, { n }) => all + n, 0),
  };
}

export const sum = (numbers: Iterable<number>): number => [...numbers].reduce((all, one) => all + one, 0);

async function ofAll<Row>(shards: readonly Pool[], query: string): Promise<Row[]> {
  const results = await Promise.all(shards.map((pool) => pool.query(query)));
  return results.flatMap(({ rows }) => rows);
}
