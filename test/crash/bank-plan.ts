import { type Random, seeded } from "../../examples/demo/random.js";

/** Money from one account to another, in minor units. */
export interface Transfer {
  readonly src: number;
  readonly dst: number;
  readonly amount: number;
}

/** Amounts end in the transfer's number, so that it can be found in a ledger without its key. */
const NUMBERS = 10_000;

/** Random transfers between few accounts: some to or from nobody, some of more than there is. */
export function randomTransfers(seed: number, count: number): Transfer[] {
  const random = seeded(seed);
  return Array.from({ length: count }, (_, number) => ({
    src: account(random, 0.03),
    dst: account(random, 0.15),
    amount: Math.floor(random() ** 4 * 120) * NUMBERS + number + 1,
  }));
}

/** Which of them an amount belongs to. */
export const numberOf = (amount: number): number => (amount % NUMBERS) - 1;

export const exists = (id: number): boolean => id <= 98;

function account(random: Random, strangers: number): number {
  return random() < strangers ? 900_000 + Math.floor(random() * 100) : 1 + Math.floor(random() * 24);
}
