// Sends with nothing but `ky`, as many at once as samekey does. Answers its memory after so many.
import process from "node:process";
import ky from "ky";
import { memory } from "./memory.mjs";
import { transfer, uuid } from "./transfer.mjs";

const IN_FLIGHT = 32;

process.once("message", async ({ baseUrl, marks }) => {
  const seen = [];
  let sent = 0;
  const lane = async () => {
    while (sent < marks.at(-1)) {
      const headers = { "idempotency-key": uuid(Date.now()) };
      await ky.post(`${baseUrl}/transfers`, { json: transfer(++sent), headers }).json();
      if (marks.includes(sent)) seen.push(memory());
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
  process.send({ done: { memory: seen.slice(-1) } }, () => process.disconnect());
});
