import type { Counts, State } from "samekey";
import { shardOf } from "../reference-server/routing.js";

/** Money from one account to another, in minor units. */
export interface Transfer {
  readonly src: number;
  readonly dst: number;
  readonly amount: number;
}

/** From here on nobody has an account. */
const NOBODY = 900_000;

/**
 * What is to happen. No two amounts are the same, so that each can be found in the ledger without its key. Where there is
 * more than one shard, some go to accounts that do not exist: only the other shard knows, when the money is under way.
 */
export function planTransfers(count: number, shards: number): Transfer[] {
  return Array.from({ length: count }, (_, number) => {
    const src = 1 + (number % 10);
    const dst = shards > 1 && number % 20 === 13 ? nobodyElsewhere(src, shards) : 11 + ((number * 7) % 10);
    return { src, dst, amount: 1_000 + number };
  });
}

/** Whether the money has to come back. */
export function isReturned({ dst }: Transfer): boolean {
  return dst >= NOBODY;
}

export function isAcross({ src, dst }: Transfer, shards: number): boolean {
  return shardOf(src, shards) !== shardOf(dst, shards);
}

function nobodyElsewhere(src: number, shards: number): number {
  let dst = NOBODY;
  while (!isAcross({ src, dst, amount: 0 }, shards)) dst++;
  return dst;
}

/** What the worker tells the demo. */
export type News =
  | { readonly what: "ready" }
  /** At least once for each transfer. */
  | { readonly what: "settled"; readonly intent: string | undefined; readonly state: State }
  | { readonly what: "done"; readonly counts: Counts };
