// `save()`, 256 at a time, beside a loop that commits groups of 256 rows by hand.
import { join } from "node:path";
import { atLeast, beside, byTurns, paced } from "../support/figures.mjs";
import { rawSqlite, url } from "../support/raw-sqlite.mjs";
import { openSdk } from "../support/sdk.mjs";
import { transfer } from "../support/transfer.mjs";

const GROUP = 256;
const GROUPS = 8;

export async function measure({ quick, dist, home }) {
  const raw = await rawSqlite(dist, join(home, "save-raw.sqlite"), transfer(0));
  const sdk = await openSdk(dist, join(home, "save.sqlite"), { baseUrl: new URL(url).origin });

  /** Some groups, one after the other. */
  const rate = (group) => () =>
    paced(GROUP * GROUPS, async () => {
      for (let i = 0; i < GROUPS; i++) {
        await new Promise(setImmediate);
        await group();
      }
    });
  const numbers = Array.from({ length: GROUP }, (_, n) => n);
  const contestants = {
    samekey: rate(() => Promise.all(numbers.map((n) => sdk.operation("transfer", transfer(n)).save()))),
    raw: rate(() => raw.insert(numbers.map(transfer))),
  };
  await byTurns(5, contestants);
  const samples = await byTurns(quick ? 15 : 60, contestants);
  await sdk.close();
  raw.close();

  const { ours, theirs, share, text } = beside(samples.samekey, samples.raw);
  return [
    {
      what: "`save()` on SQLite, 256 at a time",
      measured: ours,
      limit: `raw better-sqlite3 group commit of the same rows ${theirs}`,
      ratio: text,
      ...atLeast(share, 0.85),
    },
  ];
}
