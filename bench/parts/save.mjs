// `save()`, 256 at a time, beside a loop that commits groups of 256 rows by hand.
import { join } from "node:path";
import { load } from "../support/build.mjs";
import { atLeast, byTurns, median, perSecond, ratio, times } from "../support/figures.mjs";
import { rawSqlite, url } from "../support/raw-sqlite.mjs";
import { transfer } from "../support/transfer.mjs";

const GROUP = 256;
const GROUPS = 8;

export async function measure({ quick, dist, home }) {
  const raw = await rawSqlite(dist, join(home, "save-raw.sqlite"), transfer(0));
  const { createSdk, post, sqliteStore } = await load(dist);
  const sdk = createSdk({
    name: "bench",
    baseUrl: new URL(url).origin,
    owner: "single",
    retention: "24h",
    store: sqliteStore({ path: join(home, "save.sqlite") }),
    operations: { transfer: post("/transfers") },
  });

  /** Operations per second, over some groups one after the other. */
  const rate = (group) => async () => {
    const started = performance.now();
    for (let i = 0; i < GROUPS; i++) {
      await new Promise(setImmediate);
      await group();
    }
    return (GROUP * GROUPS * 1000) / (performance.now() - started);
  };
  const numbers = Array.from({ length: GROUP }, (_, n) => n);
  const contestants = {
    samekey: rate(() => Promise.all(numbers.map((n) => sdk.operation("transfer", transfer(n)).save()))),
    raw: rate(() => raw.insert(numbers.map(transfer))),
  };
  await byTurns(5, contestants);
  const { samekey, raw: limit } = await byTurns(quick ? 15 : 60, contestants);
  await sdk.close();
  raw.close();

  const share = ratio(samekey, limit);
  return [
    {
      what: "`save()` on SQLite, 256 at a time",
      measured: perSecond(median(samekey)),
      limit: `raw better-sqlite3 group commit of the same rows ${perSecond(median(limit))}`,
      ratio: times(share),
      ...atLeast(share.median, 0.85),
    },
  ];
}
