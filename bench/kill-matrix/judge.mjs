import { setTimeout as sleep } from "node:timers/promises";

const PAUSE = 500;

/** Waits until nobody is going to do any more, or for so many milliseconds, and says what came of each order. */
export async function judge({ api, machine, orders, limit }) {
  const until = Date.now() + limit;
  let states = [];
  for (let quiet = 0; quiet < 3; ) {
    await sleep(PAUSE);
    const before = states.join();
    states = await Promise.all(orders.map((order, i) => machine.status(order, i)));
    quiet = states.includes("pending") || states.join() !== before ? 0 : quiet + 1;
    if (Date.now() > until) break;
  }
  return orders.map((order, i) => verdict(api.effects.get(order) ?? 0, states[i]));
}

/**
 * - `duplicated`: done more than once
 * - `lost`: not done, and nobody knows it
 * - `stuck`: kept, and not finished within the time
 * - `failed`: not done, and the program was told so
 * - `review`: the program was told that it cannot be known
 * - `untold`: done once, and the program was told the contrary, or nothing
 * - `once`: done once, and the program knows it
 */
function verdict(effects, state) {
  if (effects > 1) return "duplicated";
  if (state === "pending") return "stuck";
  if (state === "review") return "review";
  if (effects === 0) return state === "failed" ? "failed" : "lost";
  return state === "succeeded" ? "once" : "untold";
}
