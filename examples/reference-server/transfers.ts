import { randomUUID } from "node:crypto";
import type { PoolClient } from "pg";
import type { Relay } from "./relay.js";
import { shardOf } from "./routing.js";
import { positive } from "./schemas.js";

/** Money from one account to another, in minor units. */
export interface Transfer {
  readonly src: number;
  readonly dst: number;
  readonly amount: number;
}

export type TransferResult =
  | { readonly status: 201; readonly body: Transfer & { readonly transfer: string } }
  | { readonly status: 402 | 404; readonly body: { readonly error: string } };

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

/** Where a transfer runs: on the connection of the transaction that holds the key, on the source account's shard. */
export interface TransferContext {
  readonly tx: PoolClient;
  readonly key: string;
  readonly relay: Relay;
  readonly shards: number;
}

/** Moves the money, or takes it and sees to it that it arrives. */
export async function transfer(context: TransferContext, wanted: Transfer): Promise<TransferResult> {
  const { tx, key, relay, shards } = context;
  const { src, dst, amount } = wanted;
  const isLocal = shardOf(src, shards) === shardOf(dst, shards);
  // Always in the order of their ids: transfers that cross must not wait for each other.
  const { rows } = await tx.query("SELECT id, balance FROM accounts WHERE id = ANY ($1) ORDER BY id FOR UPDATE", [
    isLocal ? [src, dst] : [src],
  ]);
  const source = rows.find(({ id }) => Number(id) === src);
  if (source === undefined || (isLocal && rows.length < 2)) return { status: 404, body: { error: "unknown_account" } };
  if (Number(source.balance) < amount) return { status: 402, body: { error: "insufficient_funds" } };

  const id = randomUUID();
  await move(tx, { transfer: id, kind: "transfer_out", account: src, change: -amount, key });
  if (isLocal) await move(tx, { transfer: id, kind: "transfer_in", account: dst, change: amount, key });
  else {
    const credit = { transfer: id, account: dst, amount, key };
    // Its key comes from the transfer, not from the request's: that one may come again, once its window is long over.
    await relay.operation("credit", credit, { intent: id, key: `credit:${id}` }).save({ tx });
  }
  return { status: 201, body: { transfer: id, src, dst, amount } };
}

interface Move {
  readonly transfer: string;
  readonly kind: "transfer_out" | "transfer_in";
  readonly account: number;
  readonly change: number;
  readonly key: string;
}

/** Changes a balance, and says so in the ledger. */
async function move(tx: PoolClient, { transfer, kind, account, change, key }: Move): Promise<void> {
  await tx.query(
    `WITH moved AS (UPDATE accounts SET balance = balance + $4::bigint WHERE id = $3)
     INSERT INTO ledger_entries (transfer, kind, account, amount, key) VALUES ($1, $2, $3, abs($4::bigint), $5)`,
    [transfer, kind, account, change, key],
  );
}
