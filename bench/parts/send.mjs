// `send()` on SQLite, 64 in flight, beside bare `ky` and bare `fetch`. The server is a process of its own.
import { join } from "node:path";
import ky from "ky";
import { serve } from "../support/child.mjs";
import { atLeast, beside, byTurns, paced } from "../support/figures.mjs";
import { openSdk } from "../support/sdk.mjs";
import { transfer, uuid } from "../support/transfer.mjs";

const IN_FLIGHT = 64;
const SENDS = 640;

export async function measure({ quick, dist, home }) {
  const server = await serve("support/server.mjs");
  const path = join(home, "send.sqlite");
  const sdk = await openSdk(dist, path, { baseUrl: server.said, concurrency: IN_FLIGHT });
  const target = `${server.said}/transfers`;
  const key = () => ({ "idempotency-key": uuid(Date.now()) });

  /** So many requests, with a number of them under way at any time. */
  const rate = (send) => () => {
    let left = SENDS;
    const lane = async () => {
      while (left-- > 0) await send(transfer(left));
    };
    return paced(SENDS, () => Promise.all(Array.from({ length: IN_FLIGHT }, lane)));
  };
  const contestants = {
    samekey: rate(async (body) => (await sdk.operation("transfer", body).send()).data),
    ky: rate((body) => ky.post(target, { json: body, headers: key() }).json()),
    fetch: rate(async (body) => {
      const headers = { "content-type": "application/json", ...key() };
      const response = await fetch(target, { method: "POST", headers, body: JSON.stringify(body) });
      return response.json();
    }),
  };
  await byTurns(5, contestants);
  const samples = await byTurns(quick ? 12 : 45, contestants);
  await sdk.close();
  server.stop();

  const row = (name, budget) => {
    const { ours, theirs, share, text } = beside(samples.samekey, samples[name]);
    return {
      what: `\`send()\` on SQLite, ${IN_FLIGHT} in flight, against bare \`${name}\``,
      measured: ours,
      limit: `bare \`${name}\` ${theirs}`,
      ratio: text,
      ...atLeast(share, budget),
    };
  };
  return [row("ky", 1), row("fetch", 0.65)];
}
