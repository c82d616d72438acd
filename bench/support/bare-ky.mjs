// Sends with nothing but `ky`, as many at once as samekey does. Answers how soon the first request was made, and its
// memory after so many.
import process from "node:process";
import ky from "ky";
import { memory, middle, SAMPLES, SPREAD } from "./memory.mjs";
import { transfer, uuid } from "./transfer.mjs";

const IN_FLIGHT = 32;

process.once("message", async ({ baseUrl, mark }) => {
  const seen = [];
  let sent = 0;
  let first;
  const started = performance.now();
  const client = ky.create({
    prefixUrl: baseUrl,
    fetch: (input, init) => {
      first ??= performance.now() - started;
      return fetch(input, init);
    },
  });
  const lane = async () => {
    while (sent < mark + SPREAD) {
      const headers = { "idempotency-key": uuid(Date.now()) };
      await client.post("transfers", { json: transfer(++sent), headers }).json();
      if (sent >= mark && seen.length < SAMPLES && (sent - mark) % (SPREAD / SAMPLES) === 0) seen.push(memory());
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
  process.send({ done: { first, memory: middle(seen) } }, () => process.disconnect());
});
