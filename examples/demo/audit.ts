import type { Pool } from "pg";
import type { Transfer } from "./plan.js";

/** What stands in the bank's own database. */
export interface Audit {
  readonly entries: number;
  /** Entries beyond one on each side of each transfer, and entries that belong to no transfer. */
  readonly duplicates: number;
  /** Transfers that lack an entry on either side. */
  readonly lost: number;
  /** Accounts whose balance is not what the plan makes it. */
  readonly wrongBalances: number;
}

/** All the money in the bank. */
export async function totalBalance(pool: Pool): Promise<number> {
  const { rows } = await pool.query("SELECT sum(balance)::float8 AS total FROM accounts");
  return rows[0].total;
}

/** Balances by account. */
export async function balances(pool: Pool): Promise<Map<number, number>> {
  const { rows } = await pool.query("SELECT id::float8, balance::float8 FROM accounts");
  return new Map(rows.map(({ id, balance }) => [id, balance]));
}

/** Compares the ledger with the plan, entry by entry, and the balances with both. */
export async function audit(
  pool: Pool,
  transfers: readonly Transfer[],
  before: ReadonlyMap<number, number>,
): Promise<Audit> {
  const { rows } = await pool.query<{ entry: string; n: number }>(
    "SELECT concat_ws(' ', kind, account, amount) AS entry, count(*)::int AS n FROM ledger_entries GROUP BY 1",
  );
  const found = new Map(rows.map(({ entry, n }) => [entry, n]));
  const sides = transfers.map(({ src, dst, amount }) => [
    found.get(`transfer_out ${src} ${amount}`) ?? 0,
    found.get(`transfer_in ${dst} ${amount}`) ?? 0,
  ]);
  const entries = rows.reduce((sum, { n }) => sum + n, 0);
  const once = sides.flat().filter((n) => n > 0).length;

  const expected = new Map(before);
  const move = (account: number, amount: number) => expected.set(account, (expected.get(account) ?? 0) + amount);
  for (const { src, dst, amount } of transfers) {
    move(src, -amount);
    move(dst, amount);
  }
  const after = await balances(pool);
  return {
    entries,
    duplicates: entries - once,
    lost: sides.filter((side) => side.includes(0)).length,
    wrongBalances: [...expected].filter(([account, balance]) => after.get(account) !== balance).length,
  };
}
