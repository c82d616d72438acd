import { expect, onTestFinished, test } from "vitest";
import { deleteDatabase, freshName, replace } from "../../contract/indexeddb.tools.js";
import { openSdk } from "./tools.js";

const transfer = { amount: 5 };

test.each([
  [
    "is not there, as in some private modes",
    () => Object.defineProperty(globalThis, "indexedDB", { value: undefined, configurable: true }),
  ],
  [
    "refuses to open",
    () =>
      replace(IDBFactory.prototype, "open", () => () => {
        throw new DOMException("denied", "SecurityError");
      }),
  ],
  [
    "fails to open",
    () =>
      replace(IDBFactory.prototype, "open", () => () => {
        const request = new EventTarget() as IDBOpenDBRequest;
        Object.defineProperty(request, "error", { value: new DOMException("internal error", "UnknownError") });
        setTimeout(() => request.onerror?.(new Event("error")));
        return request;
      }),
  ],
])("a store that %s: the caller is told, and nothing is sent", async (_, breakIt) => {
  const { sdk, server } = openSdk();
  const original = Object.getOwnPropertyDescriptor(globalThis, "indexedDB");
  const restore = breakIt();
  const mend = () => {
    if (typeof restore === "function") restore();
    Object.defineProperty(globalThis, "indexedDB", original as PropertyDescriptor);
  };
  onTestFinished(mend);
  const outcome = await sdk.operation("transfer", transfer, { intent: "order-1" }).outcome();
  expect(outcome).toMatchObject({ state: "unsaved", error: { name: "StoreError", code: "unavailable" } });
  await expect(sdk.operation("transfer", transfer).send()).rejects.toMatchObject({ code: "unavailable" });
  expect(await sdk.resume({ wait: 50 }).catch(({ code }) => code)).toBe("unavailable");
  expect(server.calls).toEqual([]);

  mend();
  const sent = await sdk.operation("transfer", transfer, { intent: "order-1" }).send();
  expect(sent.source, "the failure was not kept").toBe("executed");
});

test("a store that was evicted under an open page says so, and goes on (F73)", async () => {
  const name = freshName();
  const { sdk } = openSdk({ name });
  const resets: string[] = [];
  sdk.on("storereset", (event) => resets.push(event.name));
  await sdk.operation("transfer", transfer, { intent: "order-1" }).send();
  await deleteDatabase(name);
  const again = await sdk.operation("transfer", transfer, { intent: "order-2" }).send();
  expect(again.source).toBe("executed");
  expect(await sdk.find({ name: "transfer", intent: "order-1" })).toBeUndefined();
  expect(resets).toEqual([name]);
});
