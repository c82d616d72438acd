import type { Counts, State } from "samekey";

/** Money from one account to another, in minor units. */
export interface Transfer {
  readonly src: number;
  readonly dst: number;
  readonly amount: number;
}

/** What is to happen. No two amounts are the same, so that each can be found in the ledger without its key. */
export function planTransfers(count: number): Transfer[] {
  return Array.from({ length: count }, (_, number) => ({
    src: 1 + (number % 10),
    dst: 11 + ((number * 7) % 10),
    amount: 1_000 + number,
  }));
}

/** What the worker tells the demo. */
export type News =
  | { readonly what: "ready" }
  /** At least once for each transfer. */
  | { readonly what: "settled"; readonly intent: string | undefined; readonly state: State }
  | { readonly what: "done"; readonly counts: Counts };
