// Resumes what is pending in a file. Answers when the first request was made, and its memory after so many.
import process from "node:process";
import { memory, middle, SAMPLES, SPREAD } from "./memory.mjs";
import { openSdk } from "./sdk.mjs";

process.once("message", async ({ dist, path, baseUrl, marks }) => {
  const seen = Object.fromEntries(marks.map((mark) => [mark, []]));
  let first;
  const over = new AbortController();
  const sdk = await openSdk(dist, path, {
    baseUrl,
    fetch: (input, init) => {
      first ??= performance.now();
      if (marks.length === 0) over.abort();
      return fetch(input, init);
    },
  });
  let settled = 0;
  sdk.on("settled", () => {
    settled++;
    for (const mark of marks) {
      // The allocator gives pages back when it likes: some samples around a mark tell more than one.
      if (settled >= mark && settled < mark + SPREAD && (settled - mark) % (SPREAD / SAMPLES) === 0) {
        seen[mark].push(memory());
      }
    }
    if (settled === (marks.at(-1) ?? 0) + SPREAD) over.abort();
  });
  const started = performance.now();
  // Opens the file.
  await sdk.counts();
  const opened = performance.now();
  await sdk.resume({ wait: "1h", signal: over.signal });
  await sdk.close();
  const done = { opening: opened - started, first: first - opened, memory: marks.map((mark) => middle(seen[mark])) };
  process.send({ done }, () => process.disconnect());
});
