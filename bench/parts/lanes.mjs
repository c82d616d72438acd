// A claim where a lane of very many stands behind a head that is blocked, beside the same claim without that lane.
import { join } from "node:path";
import { load } from "../support/build.mjs";
import { atMost, byTurns, median, ms, ratio, thousands, times } from "../support/figures.mjs";
import { multiply } from "../support/many.mjs";
import { url } from "../support/raw-sqlite.mjs";
import { openSdk } from "../support/sdk.mjs";
import { transfer } from "../support/transfer.mjs";

const DUE = 4000;
const clock = { now: Date.now, sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)) };

export async function measure({ quick, dist, home }) {
  const behind = quick ? 100_000 : 1_000_000;
  const { sqliteStore } = await load(dist);

  async function prepare(file, parked) {
    const path = join(home, file);
    // Without credentials an operation is blocked.
    const sdk = await openSdk(dist, path, { baseUrl: new URL(url).origin, headers: () => null });
    const head = sdk.operation("transfer", transfer(0), { lane: "account 1190" });
    await head.outcome();
    const next = await sdk.operation("transfer", transfer(1), { lane: "account 1190" }).save();
    const other = await sdk.operation("transfer", transfer(2)).save();
    await sdk.close();
    multiply(path, next.id, parked);
    multiply(path, other.id, DUE);
    const store = sqliteStore({ path });
    await store.open({ name: "bench", clock });
    return store;
  }

  const lane = await prepare("lane.sqlite", behind);
  const none = await prepare("no-lane.sqlite", 1);

  /** As an attempt begins: synced, since it may be sent from then on. */
  const begin = (record) => {
    const at = Date.now();
    const lease = { holder: "bench", until: at + 600_000, length: 600_000 };
    return {
      ...record,
      fence: record.fence + 1,
      attempts: 1,
      sentAt: at,
      mark: { at, attempt: 1, first: true },
      lease,
    };
  };
  const claim = (store) => async () => {
    const started = performance.now();
    const { records } = await store.claim({ now: Date.now(), limit: 1, owner: "single" }, begin);
    const took = performance.now() - started;
    if (records.length !== 1) throw new Error("there was nothing to claim");
    return took;
  };
  const samples = await byTurns(quick ? 200 : 1000, { lane: claim(lane), none: claim(none) });
  await Promise.all([lane.close(), none.close()]);

  const middle = median(samples.lane);
  return [
    {
      what: `a claim with ${thousands(behind)} behind one blocked head, synced`,
      measured: ms(middle),
      limit: `without them ${ms(median(samples.none))}`,
      ratio: times(ratio(samples.lane, samples.none)),
      ...atMost(middle, 5, " ms"),
    },
  ];
}
