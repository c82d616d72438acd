import type { Pool } from "pg";
import { positive } from "./schemas.js";

/** The other half of a transfer whose money was taken on another shard. */
export interface Credit {
  readonly transfer: string;
  readonly account: number;
  readonly amount: number;
  /** The key of the transfer's own request. */
  readonly key: string;
}

/** JSON Schema of {@link Credit}. */
export const creditSchema = {
  type: "object",
  required: ["transfer", "account", "amount", "key"],
  additionalProperties: false,
  properties: {
    transfer: { type: "string", format: "uuid" },
    account: positive,
    amount: positive,
    key: { type: "string", minLength: 1, maxLength: 255 },
  },
} as const;

/** What was decided on a credit, once and for all. */
export interface Decision {
  readonly refusal: string | null;
  /** Decided now; otherwise the answer of then. */
  readonly fresh: boolean;
  /** Decided on this very credit, not on another one of the same transfer. */
  readonly same: boolean;
}

/**
 * Pays a credit in, or refuses it. There is no key here that could expire, as the shard that sends may have been away
 * for longer than any window: the decision is the transfer's, and stays. One statement, so all of it or nothing.
 */
export async function credit(pool: Pool, { transfer, account, amount, key }: Credit): Promise<Decision> {
  const { rows } = await pool.query(
    `WITH decided AS (
       INSERT INTO credits (transfer, account, amount, refusal)
       SELECT $1, $2, $3, CASE WHEN NOT EXISTS (SELECT FROM accounts WHERE id = $2) THEN 'unknown_account' END
       ON CONFLICT DO NOTHING
       RETURNING refusal
     ), paid AS (
       UPDATE accounts SET balance = balance + $3 FROM decided WHERE id = $2 AND refusal IS NULL
     ), entry AS (
       INSERT INTO ledger_entries (transfer, kind, account, amount, key)
       SELECT $1, 'transfer_in', $2, $3, $4 FROM decided WHERE refusal IS NULL
     )
     SELECT refusal FROM decided`,
    [transfer, account, amount, key],
  );
  if (rows.length > 0) return { refusal: rows[0].refusal, fresh: true, same: true };
  const earlier = await findCredit(pool, transfer);
  if (earlier === undefined) throw new Error(`the credit of transfer ${transfer} is neither new nor known`);
  const same = earlier.account === account && earlier.amount === amount;
  return { refusal: earlier.refusal, fresh: false, same };
}

/** What was decided on a transfer's credit, if it has arrived. */
export async function findCredit(
  pool: Pool,
  transfer: string,
): Promise<{ account: number; amount: number; refusal: string | null } | undefined> {
  const { rows } = await pool.query("SELECT account, amount, refusal FROM credits WHERE transfer = $1", [transfer]);
  return rows[0] && { account: Number(rows[0].account), amount: Number(rows[0].amount), refusal: rows[0].refusal };
}

/** Puts the money of a transfer back where it was taken. However often it is called, it happens once. */
export async function giveBack(pool: Pool, transfer: string): Promise<void> {
  await pool.query(
    `WITH back AS (
       INSERT INTO ledger_entries (transfer, kind, account, amount, key)
       SELECT transfer, 'transfer_back', account, amount, key FROM ledger_entries
        WHERE transfer = $1 AND kind = 'transfer_out'
       ON CONFLICT (transfer, kind) DO NOTHING
       RETURNING account, amount
     )
     UPDATE accounts SET balance = balance + back.amount FROM back WHERE id = back.account`,
    [transfer],
  );
}
