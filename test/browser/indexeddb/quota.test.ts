import { expect, onTestFinished, test } from "vitest";
import { cdp } from "vitest/browser";
import { newRecord } from "../../../src/testing/store-contract/records.js";
import { openStore } from "../../contract/indexeddb.tools.js";

test("Chromium's own quota refuses the save that does not fit, and only that (F66 F67)", async () => {
  const override = (quotaSize?: number) =>
    cdp().send("Storage.overrideQuotaForOrigin", { origin: location.origin, ...(quotaSize && { quotaSize }) });
  onTestFinished(async () => {
    await override();
  });
  // Chromium remembers for a while how much room there was, unless everything is closed and cleared.
  await cdp().send("Storage.clearDataForOrigin", { origin: location.origin, storageTypes: "indexeddb" });
  const { usage = 0 } = await navigator.storage.estimate();
  await override(usage + 2_000_000);
  const store = await openStore();
  const { record } = await store.insert(newRecord());
  const large = newRecord();
  const filler = crypto.getRandomValues(new Uint8Array(65_536));
  const body = new Uint8Array(4_000_000).map((_, i) => filler[i % filler.length] as number).buffer;
  const saving = store.insert({ ...large, request: { ...large.request, body } });
  const beside = store.insert(newRecord());
  // Not the record itself: a report of 4 MB would break the connection to the runner.
  const outcome = await saving.then(
    () => "saved",
    (error: unknown) => error,
  );
  expect(outcome).toMatchObject({
    name: "StoreError",
    code: "store_full",
    message: expect.stringMatching(/\d+ of \d+ bytes are used/),
  });
  expect((await beside).joined).toBeUndefined();
  expect(await store.get(large.id)).toBeUndefined();
  expect(await store.get(record.id)).toEqual(record);
  expect((await store.insert(large)).joined, "what was refused was not recorded").toBeUndefined();
});
