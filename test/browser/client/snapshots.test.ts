import { delay } from "samekey/testing";
import { expect, test } from "vitest";
import { freshName } from "../../contract/indexeddb.tools.js";
import { later, openSdk } from "./tools.js";

test("a snapshot is frozen, and the same object until something changes", async () => {
  const { sdk, server } = openSdk();
  server.script(delay(50));
  const handle = sdk.operation("transfer", { amount: 5 }, { intent: "order-1" });
  const seen = [handle.getSnapshot()];
  handle.subscribe(() => {
    const now = handle.getSnapshot();
    expect(handle.getSnapshot()).toBe(now);
    expect(Object.isFrozen(now)).toBe(true);
    if (now !== seen.at(-1)) seen.push(now);
  });
  expect(handle.getSnapshot()).toBe(seen[0]);
  const { data } = await handle.send();
  await later(20);
  expect(seen.map(({ state }) => state)).toEqual(["idle", "pending", "succeeded", "succeeded"]);
  expect(seen.at(-1)).toMatchObject({ mayHaveBeenApplied: false, outcome: { state: "succeeded", result: { data } } });
  expect(handle.getSnapshot()).toBe(seen.at(-1));
});

test("the list of what is pending keeps each item that did not change", async () => {
  const { sdk, server } = openSdk();
  server.script(delay("1h", { times: 2 }));
  const stop = sdk.pending.subscribe(() => {});
  await sdk.operation("transfer", { amount: 1 }).save();
  await sdk.operation("transfer", { amount: 2 }).save();
  const [first, second] = sdk.pending.getSnapshot();
  expect(sdk.pending.getSnapshot().map(({ input }) => input)).toEqual([{ amount: 1 }, { amount: 2 }]);
  await sdk.cancel(second?.id ?? "");
  expect(sdk.pending.getSnapshot()).toHaveLength(1);
  expect(sdk.pending.getSnapshot()[0]).toBe(first);
  stop();
});

test("handles of two realms follow one operation through BroadcastChannel", async () => {
  const name = freshName();
  const { sdk: one, server } = openSdk({ name });
  const { sdk: two } = openSdk({ name }, server);
  server.script(delay(100));
  const { id } = await one.operation("transfer", { amount: 5 }, { intent: "order-1" }).save();
  const other = two.attach(id);
  const states: string[] = [];
  other.subscribe(() => {
    const { state } = other.getSnapshot();
    if (states.at(-1) !== state) states.push(state);
  });
  await expect.poll(() => states, { timeout: 10_000 }).toEqual(["pending"]);
  await one.operation("transfer", { amount: 5 }, { intent: "order-1" }).send();
  await expect.poll(() => states, { timeout: 10_000 }).toEqual(["pending", "succeeded"]);
});
