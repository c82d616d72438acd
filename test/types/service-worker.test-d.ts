import { createSdk, post, wrapFetch } from "samekey";
import { backgroundSync } from "samekey/service-worker";
import { expectTypeOf, test } from "vitest";

const sdk = createSdk({
  name: "pay",
  owner: "single",
  retention: "24h",
  operations: { transfer: post<{ amount: number }>("/transfers") },
});

test("background sync takes any Sdk, that of a wrapped fetch too", () => {
  expectTypeOf(backgroundSync(sdk)).toEqualTypeOf<() => void>();
  backgroundSync(wrapFetch(fetch, { name: "pay", owner: "single", retention: "24h", only: "/" }).sdk);
});

test("its options", () => {
  backgroundSync(sdk, { wait: "1m", prepare: async () => "whatever" });
  backgroundSync(sdk, { wait: undefined, prepare: undefined });
  // @ts-expect-error: no length of time
  backgroundSync(sdk, { wait: "soon", prepare: 1 });
});
