import { v7 } from "uuid";

/** What is sent, everywhere in the bench. */
export const transfer = (n) => ({
  src: 8842,
  dst: 1190,
  amount: 2500 + (n % 1000),
  currency: "EUR",
  note: `order ${n}`,
});

/** Random bytes by the pool, as samekey draws them. */
let pool = new Uint8Array(0);
let used = 0;
function random() {
  if (used + 16 > pool.byteLength) [pool, used] = [crypto.getRandomValues(new Uint8Array(4096)), 0];
  used += 16;
  return pool.slice(used - 16, used);
}

export const uuid = (now) => v7({ msecs: now, random: random() });
