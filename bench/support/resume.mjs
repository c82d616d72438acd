// Resumes what is pending in a file. Answers when the first request was made, and its memory after so many.
import process from "node:process";
import { load } from "./build.mjs";
import { memory } from "./memory.mjs";

process.once("message", async ({ dist, path, baseUrl, marks }) => {
  const { createSdk, post, sqliteStore } = await load(dist);
  const seen = [];
  let first;
  const over = new AbortController();
  const sdk = createSdk({
    name: "bench",
    baseUrl,
    owner: "single",
    retention: "24h",
    store: sqliteStore({ path }),
    operations: { transfer: post("/transfers") },
    fetch: (input, init) => {
      first ??= performance.now();
      if (marks.length === 0) over.abort();
      return fetch(input, init);
    },
  });
  let settled = 0;
  sdk.on("settled", () => {
    settled++;
    if (marks.includes(settled)) seen.push(memory());
    if (settled === marks.at(-1)) over.abort();
  });
  const started = performance.now();
  await sdk.resume({ wait: "1h", signal: over.signal });
  await sdk.close();
  process.send({ done: { first: first - started, memory: seen } }, () => process.disconnect());
});
