import { expect, onTestFinished, test } from "vitest";
import { cdp } from "vitest/browser";
import { createSdk, post } from "../../../src/index.browser.js";
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

test("a full store refuses new operations unsent, keeps what it has, and takes new ones once pruned", async () => {
  const override = (quotaSize?: number) =>
    cdp().send("Storage.overrideQuotaForOrigin", { origin: location.origin, ...(quotaSize && { quotaSize }) });
  onTestFinished(async () => {
    await override();
  });
  await cdp().send("Storage.clearDataForOrigin", { origin: location.origin, storageTypes: "indexeddb" });
  const { usage = 0 } = await navigator.storage.estimate();
  await override(usage + 4_000_000);
  let sent = 0;
  const sdk = createSdk({
    name: `full-${crypto.randomUUID()}`,
    owner: "single",
    retention: "24h",
    baseUrl: location.origin,
    operations: { note: post<string, unknown>("/notes") },
    fetch: async () => {
      sent++;
      return new Response("{}", { status: 201, headers: { "content-type": "application/json" } });
    },
  });
  onTestFinished(() => sdk.close());
  const low: unknown[] = [];
  sdk.on("storagelow", (event) => low.push(event));
  // Nothing that a database could compress.
  const text = () => btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(30_000))));
  const note = (n: number) => sdk.operation("note", text(), { intent: `note-${n}` });
  let saved = 0;
  const fill = async (): Promise<unknown> => {
    for (; saved < 1_000; saved++) {
      try {
        await note(saved).send();
      } catch (error) {
        return error;
      }
    }
    return undefined;
  };
  expect(await fill()).toMatchObject({ name: "StoreError", code: "store_full" });
  expect(sent, "what was refused was not sent").toBe(saved);
  // An outcome for which there was no room left is asked for once more: the server replays it.
  const { succeeded = 0, pending = 0 } = await sdk.counts();
  expect(succeeded + pending).toBe(saved);
  expect(low).toHaveLength(1);
  const { quota, persisted } = await sdk.storage();
  expect(quota).toBeGreaterThan(usage);
  expect(persisted).toBeTypeOf("boolean");
  // One of those without room may have been asked for again meanwhile.
  const pruned = await sdk.prune({ keepFor: 0, rememberIntents: 0 });
  expect(pruned).toBeGreaterThanOrEqual(succeeded);
  // The browser gives the room back when it tidies up its files.
  const again = () =>
    note(saved)
      .send()
      .then(
        ({ source }) => source,
        ({ code }) => code,
      );
  await expect.poll(again, { timeout: 20_000 }).toBe("executed");
  await sdk.resume();
  expect(await sdk.counts()).toEqual({ succeeded: saved - pruned + 1 });
}, 60_000);
