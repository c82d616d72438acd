import { createElement as h, StrictMode, Suspense } from "react";
import { renderToReadableStream, renderToString } from "react-dom/server";
import { createSdk, post, type Sdk } from "samekey";
import { useOperation, usePendingOperations } from "samekey/react";
import { expect, test } from "vitest";
import type { Store } from "../../../src/store.js";
import { memoryStore } from "../../../src/stores/memory.js";

/** A store whose every touch is told. */
function untouchable(touched: unknown[]): Store {
  return new Proxy(memoryStore(), {
    get: (store, name) => {
      const verb: unknown = Reflect.get(store, name);
      if (typeof verb !== "function") return verb;
      return () => {
        touched.push(name);
        throw new Error(`the store was touched: ${String(name)}`);
      };
    },
  });
}

const operations = { transfer: post<{ amount: number }, { id: string }>("/transfers") };

function Page({ sdk }: { readonly sdk: Sdk<typeof operations> }) {
  const named = useOperation(sdk, "transfer", { intent: "order-1" });
  const unnamed = useOperation(sdk, "transfer");
  const pending = usePendingOperations(sdk);
  return h("p", null, `${named.state} ${named.id} ${unnamed.state} ${unnamed.attempts} ${pending.length}`);
}

test("on a server everything is idle: no store is opened, nothing is asked, nothing is sent", async () => {
  const touched: unknown[] = [];
  const sdk = createSdk({
    name: "rendered",
    owner: () => {
      touched.push("owner");
      return "ada";
    },
    retention: "24h",
    baseUrl: "https://api.example.com",
    store: untouchable(touched),
    fetch: async () => {
      touched.push("fetch");
      return new Response();
    },
    operations,
  });
  const page = h(StrictMode, null, h(Suspense, null, h(Page, { sdk })));
  const html = "<p>idle undefined idle 0 0</p>";
  expect(renderToString(page)).toContain(html);
  expect(await new Response(await renderToReadableStream(page)).text()).toContain(html);
  expect(touched).toEqual([]);
});
