// What one operation alone takes longer than bare `ky`, beside what one synced insert of the same row before it takes.
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import ky from "ky";
import { serve } from "../support/child.mjs";
import { added, atMost, byTurns, median, ms, times } from "../support/figures.mjs";
import { rawSqlite } from "../support/raw-sqlite.mjs";
import { openSdk } from "../support/sdk.mjs";
import { transfer, uuid } from "../support/transfer.mjs";

export async function measure({ quick, dist, home }) {
  const server = await serve("support/server.mjs");
  const raw = await rawSqlite(dist, join(home, "alone-raw.sqlite"), transfer(0));
  const sdk = await openSdk(dist, join(home, "alone.sqlite"), { baseUrl: server.said });
  const target = `${server.said}/transfers`;

  let n = 0;
  const timed = (act) => async () => {
    // Nothing of the one before is still under way.
    await pause(1);
    const started = performance.now();
    await act(transfer(n++));
    return performance.now() - started;
  };
  const post = (body) => ky.post(target, { json: body, headers: { "idempotency-key": uuid(Date.now()) } }).json();
  const contestants = {
    samekey: timed((body) => sdk.operation("transfer", body).send()),
    ky: timed(post),
    insert: timed((body) => raw.insert([body])),
    both: timed((body) => {
      raw.insert([body]);
      return post(body);
    }),
  };
  await byTurns(100, contestants);
  const samples = await byTurns(quick ? 300 : 1500, contestants);
  await sdk.close();
  raw.close();
  server.stop();

  const more = added(samples.samekey, samples.ky);
  const least = added(samples.both, samples.ky);
  return [
    {
      what: "one operation alone on SQLite, added to bare `ky`",
      measured: `${ms(more)} (medians ${ms(median(samples.samekey))} and ${ms(median(samples.ky))})`,
      limit: `one synced insert before it ${ms(least)} (by itself ${ms(median(samples.insert))})`,
      ratio: times({ median: more / least }),
      ...atMost(more / least, 1, " ×"),
    },
  ];
}
