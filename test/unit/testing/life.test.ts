import { createMockServer, createVirtualClock } from "samekey/testing";
import { expect, test } from "vitest";
import type { Store } from "../../../src/store.js";
import { memoryStore } from "../../../src/stores/memory.js";
import { Life } from "../../../src/testing/life.js";

/** What has become of a promise by now. */
async function fateOf(promise: Promise<unknown>): Promise<string> {
  const settled = promise.then(
    () => "resolved",
    () => "rejected",
  );
  return Promise.race([settled, new Promise<string>((resolve) => setTimeout(resolve, 5, "open"))]);
}

test("while it lasts, everything passes through it", async () => {
  const life = new Life();
  const clock = createVirtualClock({ start: 0 });
  const server = createMockServer({ clock });
  const mine = life.clock(clock);
  await clock.until(mine.sleep(100));
  expect(mine.now()).toBe(100);
  await expect(mine.sleep(100, AbortSignal.abort("enough"))).rejects.toBe("enough");
  expect((await life.fetch(server.fetch)("/a", { method: "POST", headers: { "idempotency-key": "k" } })).status).toBe(
    201,
  );
  const store = life.store(memoryStore());
  await expect(store.get("x")).rejects.toMatchObject({ code: "unavailable" });
  await store.open({ name: "test", clock });
  expect(await store.get("x")).toBeUndefined();
});

test("after its end nothing that was under way comes back, and nothing new goes out", async () => {
  const life = new Life();
  const clock = createVirtualClock();
  const server = createMockServer({ clock, processing: 10 });
  const [mine, fetch] = [life.clock(clock), life.fetch(server.fetch)];
  const init = { method: "POST", headers: { "idempotency-key": "k" } };
  const underWay = [mine.sleep(100), fetch("/a", init)];
  life.end();
  expect(clock.pending).toBe(0);
  await clock.advance("1m");
  const later = [mine.sleep(0), mine.sleep(1, AbortSignal.abort()), fetch("/b", init)];
  for (const promise of [...underWay, ...later]) expect(await fateOf(promise)).toBe("open");
  expect(server.requests.map(({ path }) => path)).toEqual(["/a"]);
  expect(server.effects).toHaveLength(1);
});

test("a store's verbs end with it, each of them", async () => {
  const life = new Life();
  const inner = memoryStore();
  const called: string[] = [];
  const spied = new Proxy(inner, {
    get(target, name) {
      const value = Reflect.get(target, name);
      return typeof value !== "function" ? value : async () => called.push(String(name));
    },
  });
  const store = life.store(spied);
  const verbs = Object.keys(store).filter((name) => name !== "durable") as (keyof Store)[];
  const call = (name: keyof Store) => (store[name] as () => Promise<unknown>)();
  await Promise.all(verbs.map(call));
  expect(called).toEqual(verbs);
  expect([...verbs].sort()).toEqual(
    Object.getOwnPropertyNames(Object.getPrototypeOf(inner))
      .filter((name) => name !== "constructor")
      .sort(),
  );
  life.end();
  for (const verb of verbs) expect(await fateOf(call(verb))).toBe("open");
  expect(called).toHaveLength(verbs.length);
});
