import type { Pool } from "pg";

export interface LedgerEntry {
  readonly transfer: string;
  readonly kind: "transfer_out" | "transfer_in" | "transfer_back";
  readonly account: number;
  readonly amount: number;
  readonly key: string;
  readonly created_at: Date;
}

export interface Ledger {
  readonly account: number;
  readonly balance: number;
  readonly entries: readonly LedgerEntry[];
}

/** What an account holds, and how it came about. */
export async function readLedger(pool: Pool, account: number): Promise<Ledger | undefined> {
  const [found, entries] = await Promise.all([
    pool.query("SELECT balance FROM accounts WHERE id = $1", [account]),
    pool.query(
      "SELECT transfer, kind, account, amount, key, created_at FROM ledger_entries WHERE account = $1 ORDER BY seq",
      [account],
    ),
  ]);
  if (found.rows.length === 0) return undefined;
  const numbers = entries.rows.map((row) => ({ ...row, account: Number(row.account), amount: Number(row.amount) }));
  return { account, balance: Number(found.rows[0].balance), entries: numbers };
}
