import { randomUUID } from "node:crypto";
import type { PoolClient } from "pg";

/** Money from one account to another, in minor units. */
export interface Transfer {
  readonly src: number;
  readonly dst: number;
  readonly amount: number;
}

export type TransferResult =
  | { readonly status: 201; readonly body: Transfer & { readonly transfer: string } }
  | { readonly status: 402 | 404; readonly body: { readonly error: string } };

/** What JSON numbers and bigint columns both hold exactly. */
export const positive = { type: "integer", minimum: 1, maximum: Number.MAX_SAFE_INTEGER } as const;

/** JSON Schema of {@link Transfer}. */
export const transferSchema = {
  type: "object",
  required: ["src", "dst", "amount"],
  additionalProperties: false,
  properties: {
    src: positive,
    dst: positive,
    amount: positive,
  },
} as const;

/** Moves the money and writes both ledger entries, on the connection of the transaction that holds the key. */
export async function transfer(tx: PoolClient, key: string, { src, dst, amount }: Transfer): Promise<TransferResult> {
  // Always in the order of their ids: transfers that cross must not wait for each other.
  const { rows } = await tx.query("SELECT id, balance FROM accounts WHERE id IN ($1, $2) ORDER BY id FOR UPDATE", [
    src,
    dst,
  ]);
  const source = rows.find(({ id }) => Number(id) === src);
  if (source === undefined || rows.length < 2) return { status: 404, body: { error: "unknown_account" } };
  if (Number(source.balance) < amount) return { status: 402, body: { error: "insufficient_funds" } };

  const id = randomUUID();
  await tx.query(
    `WITH moved AS (
       UPDATE accounts SET balance = balance + CASE id WHEN $2 THEN -$4::bigint ELSE $4 END WHERE id IN ($2, $3)
     )
     INSERT INTO ledger_entries (transfer, kind, account, amount, key)
     VALUES ($1, 'transfer_out', $2, $4, $5), ($1, 'transfer_in', $3, $4, $5)`,
    [id, src, dst, amount, key],
  );
  return { status: 201, body: { transfer: id, src, dst, amount } };
}
