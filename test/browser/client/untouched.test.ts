import { expect, test } from "vitest";
import { replace } from "../../contract/indexeddb.tools.js";
import { openSdk } from "./tools.js";

test("making an Sdk, describing operations and looking at them touches nothing; the first save does", async () => {
  const touched: string[] = [];
  const note =
    (what: string) =>
    // biome-ignore lint/suspicious/noExplicitAny: one spy for functions of any shape.
    (original: any): any =>
      function (this: unknown, ...given: unknown[]) {
        touched.push(what);
        return original.apply(this, given);
      };
  replace(IDBFactory.prototype, "open", note("indexedDB.open"));
  replace(LockManager.prototype, "request", note("locks.request"));
  replace(LockManager.prototype, "query", note("locks.query"));
  replace(StorageManager.prototype, "persist", note("storage.persist"));
  replace(Storage.prototype, "setItem", note("localStorage.setItem"));
  replace(Storage.prototype, "getItem", note("localStorage.getItem"));
  replace(Crypto.prototype, "getRandomValues", note("getRandomValues"));
  replace(EventTarget.prototype, "addEventListener", note("addEventListener"));
  const Original = globalThis.BroadcastChannel;
  replace(
    globalThis,
    "BroadcastChannel",
    () =>
      class extends Original {
        constructor(name: string) {
          super(name);
          touched.push("BroadcastChannel");
        }
      },
  );
  replace(globalThis, "setTimeout", note("setTimeout"));
  const globals = Object.getOwnPropertyNames(globalThis).sort().join();

  const { sdk } = openSdk();
  sdk.on("settled", () => {});
  const handle = sdk.operation("transfer", { amount: 5 }, { intent: "order-1" });
  expect(handle.getSnapshot().state).toBe("idle");
  expect(sdk.pending.getSnapshot()).toEqual([]);
  await undefined;
  expect(touched.filter((what) => what !== "getRandomValues")).toEqual([]);
  expect(Object.getOwnPropertyNames(globalThis).sort().join()).toBe(globals);

  await handle.save();
  expect(touched).toEqual(expect.arrayContaining(["indexedDB.open", "BroadcastChannel"]));
});

test("an Sdk that was never used closes without opening anything", async () => {
  const opened: unknown[] = [];
  replace(
    IDBFactory.prototype,
    "open",
    (open) =>
      function (this: IDBFactory, ...given) {
        opened.push(given);
        return open.apply(this, given);
      },
  );
  const { sdk } = openSdk();
  await sdk.close();
  expect(opened).toEqual([]);
});
