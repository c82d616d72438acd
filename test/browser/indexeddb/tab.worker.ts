/** A realm of its own, as another tab has: told a database and a holder, it claims until nothing is left. */

import { indexedDbStore } from "../../../src/stores/indexeddb.js";
import { leased, T0 } from "../../../src/testing/store-contract/records.js";
import { clock } from "../../contract/indexeddb.harness.js";

addEventListener("message", async ({ data }: MessageEvent<{ name: string; holder: string }>) => {
  const store = indexedDbStore();
  await store.open({ name: data.name, clock });
  const claimed: string[] = [];
  for (;;) {
    const { records } = await store.claim({ now: T0, limit: 1 }, (it) => leased(it, data.holder, T0));
    if (records.length === 0) break;
    claimed.push(...records.map(({ id }) => id));
  }
  const facts = { reset: store.reset, localStorage: typeof localStorage };
  await store.close();
  postMessage({ claimed, facts });
});
