/** A dedicated worker that records an operation, or finishes what was recorded. */

import { createSdk, post } from "samekey";

const sdk = createSdk({
  name: "pay",
  owner: "single",
  retention: "24h",
  operations: { transfer: post<{ amount: number }>("/transfers") },
});

addEventListener("message", async ({ data }: MessageEvent<"save" | "resume">) => {
  const facts = { window: typeof window, localStorage: typeof localStorage };
  if (data === "save") {
    const { id, key, state } = await sdk.operation("transfer", { amount: 7 }, { intent: "from-worker" }).save();
    postMessage({ ...facts, id, key, state });
  } else {
    postMessage({ ...facts, ...(await sdk.resume()) });
  }
});
