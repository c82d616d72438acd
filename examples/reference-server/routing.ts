import { createHash } from "node:crypto";

/**
 * The shard that an account lives on. Fixed for good: what moves accounts to other shards has to move their money, their
 * ledger and their keys with them.
 */
export function shardOf(account: number, shards: number): number {
  // A hash, as ids may have a pattern: all of them even, or a block for each branch.
  return createHash("sha256").update(String(account)).digest().readUInt32LE() % shards;
}

/**
 * The shard for a transfer as it came in, before it was validated: that of its source account. One without goes to the
 * first: its refusal is stored under the key, too, and has to be found again.
 */
export function shardOfRequest(body: unknown, shards: number): number {
  const src = (body as { src?: unknown } | null | undefined)?.src;
  return typeof src === "number" ? shardOf(src, shards) : 0;
}
