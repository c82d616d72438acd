import { indexedDbStore } from "samekey/stores/indexeddb";
import { expect, test } from "vitest";
import { later, openSdk } from "./tools.js";

/** The default store, which takes its time over each new record. */
function slowStore(ms: number) {
  const store = indexedDbStore();
  const insert = store.insert.bind(store);
  const inserts: unknown[] = [];
  store.insert = async (record) => {
    inserts.push(record);
    await later(ms);
    return insert(record);
  };
  return { store, inserts };
}

test("five clicks in one task, and more across 100 ms, while the store takes 200 ms: one request (F9)", async () => {
  const { store, inserts } = slowStore(200);
  const { sdk, server } = openSdk({ store });
  const click = () => sdk.operation("transfer", { amount: 5 }, { intent: "order-1" }).send();
  const clicks = Array.from({ length: 5 }, click);
  for (let i = 0; i < 5; i++) {
    await later(20);
    clicks.push(click());
  }
  const results = await Promise.all(clicks);
  expect(inserts, "joined before anything was waited for").toHaveLength(1);
  expect(new Set(results.map(({ key }) => key)).size).toBe(1);
  expect(new Set(results.map(({ id }) => id)).size).toBe(1);
  expect(server.calls).toHaveLength(1);
  expect(server.effects).toHaveLength(1);
  expect(await sdk.counts()).toEqual({ succeeded: 1 });
});

test("a button that is clicked five times pays once (F9)", async () => {
  const { sdk, server } = openSdk({ store: slowStore(100).store });
  const button = document.createElement("button");
  const done: Promise<unknown>[] = [];
  button.onclick = () => done.push(sdk.operation("transfer", { amount: 5 }, { intent: "order-1" }).send());
  for (let i = 0; i < 5; i++) button.click();
  await Promise.all(done);
  expect(done).toHaveLength(5);
  expect(server.calls).toHaveLength(1);
});

test("two Sdks of one page, as two copies of an app have them, share an intent too (F9)", async () => {
  const { sdk: one, server } = openSdk({ name: "twice" });
  const { sdk: two } = openSdk({ name: "twice" }, server);
  const send = (sdk: typeof one) =>
    sdk.operation("transfer", { amount: 5 }, { intent: `order-${performance.timeOrigin}` }).send();
  const [a, b] = await Promise.all([send(one), send(two)]);
  expect(b).toMatchObject({ key: a.key, data: a.data });
  expect(server.calls).toHaveLength(1);
});
