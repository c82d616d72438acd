// What runs in the page.
import ky from "ky";
import { createSdk, post } from "samekey";
import { byTurns } from "../support/figures.mjs";
import { transfer } from "../support/transfer.mjs";
import { counting } from "./counting.mjs";
import { rawTransaction } from "./raw-indexeddb.mjs";

const sdk = createSdk({
  name: "bench",
  owner: "single",
  retention: "24h",
  operations: { transfer: post("/transfers") },
});
const target = new URL("/transfers", location.href).href;

/** The next task, sooner than a timer allows. */
function nextTask() {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = resolve;
    port2.postMessage(0);
  });
}

globalThis.bench = {
  async alone(rounds) {
    const transaction = await rawTransaction(() => sdk.operation("transfer", transfer(0)).send());
    let n = 0;
    const timed = (act) => async () => {
      // Nothing of the one before is still under way.
      await new Promise((resolve) => setTimeout(resolve, 5));
      const started = performance.now();
      await act(transfer(n++));
      return performance.now() - started;
    };
    const key = () => ({ "idempotency-key": crypto.randomUUID() });
    const post = (body) => ky.post(target, { json: body, headers: key() }).json();
    const contestants = {
      samekey: timed((body) => sdk.operation("transfer", body).send()),
      ky: timed(post),
      transaction: timed(transaction),
      both: timed(async (body) => {
        await transaction();
        await post(body);
      }),
    };
    await byTurns(20, contestants);
    return byTurns(rounds, contestants);
  },

  async saves(n, how) {
    await sdk.operation("transfer", transfer(0)).save();
    const stop = counting();
    const saves = [];
    for (let i = 0; i < n; i++) {
      if (how !== "one task") await nextTask();
      saves.push(sdk.operation("transfer", transfer(i)).save());
    }
    await Promise.all(saves);
    return stop();
  },
};
