import { type Clock, createSdk, post, type Store, type StoreContext } from "samekey";
import { memoryStore } from "samekey/stores/memory";
import { describe, expect, test } from "vitest";
import { SharedClock } from "../../../src/stores/shared-clock.js";

/** A machine, and a database an hour ahead of it that takes a while to answer. */
function machine() {
  let elapsed = 1_000_000;
  let jumped = 0;
  const own = { now: () => elapsed + jumped, sleep: async () => {} };
  const clock = new SharedClock(own);
  return {
    clock,
    jump: (ms: number) => {
      jumped += ms;
    },
    own: () => own.now(),
    ask(ahead: number, takes = 0, meanwhile = () => {}) {
      const heard = clock.asked();
      elapsed += takes / 2;
      const told = elapsed + ahead;
      elapsed += takes / 2;
      meanwhile();
      heard(told);
      return clock.now() - (elapsed + ahead);
    },
  };
}

const HOUR = 3_600_000;

describe("a clock that is shared with a store", () => {
  test("is the machine's own until the store has told, and where the two agree to a quarter of a second", () => {
    const { clock, own, ask } = machine();
    expect(clock.now()).toBe(own());
    ask(249);
    ask(-249);
    expect(clock.now()).toBe(own());
  });

  test.each([HOUR, -HOUR])("goes by the store's, %i ms off, to half of what the answer took", (ahead) => {
    expect(machine().ask(ahead)).toBe(0);
    expect(Math.abs(machine().ask(ahead, 400))).toBeLessThanOrEqual(200);
  });

  test("stays where it is while answers are slow: they tell less than what is known", () => {
    const { ask } = machine();
    expect(ask(HOUR)).toBe(0);
    expect(ask(HOUR, 14_000)).toBe(0);
  });

  test.each([HOUR, -HOUR])("follows when the machine's own jumps by %i ms", (by) => {
    const { ask, jump } = machine();
    expect(ask(0)).toBe(0);
    jump(by);
    expect(ask(0)).toBe(0);
  });

  test.each([HOUR, -HOUR])("is set right by the next answer when it jumps by %i ms while one is awaited", (by) => {
    const { ask, jump } = machine();
    ask(0, 100, () => jump(by));
    expect(ask(0)).toBe(0);
  });

  test("learns nothing from what is no time", () => {
    const { clock, own } = machine();
    clock.asked()(Number.NaN);
    expect(clock.now()).toBe(own());
  });
});

describe("a store that tells the time", () => {
  /** Knows by how much this machine is off as soon as it is open. */
  function storeAhead(): Store {
    const store = memoryStore();
    const open = store.open.bind(store);
    let skew = 0;
    return Object.assign(store, {
      clock: (own: Clock) => ({ ...own, now: () => own.now() + skew }),
      open: async (context: StoreContext) => {
        await open(context);
        skew = HOUR;
      },
    });
  }
  const options = { name: "ahead", owner: "single", retention: "24h", baseUrl: "http://localhost:1" } as const;
  const operations = { order: post<{ order: string }>("/orders") };

  test("tells it before the first operation is recorded", async () => {
    await using sdk = createSdk({ ...options, operations, store: storeAhead() });
    const before = Date.now();
    const { createdAt } = await sdk.operation("order", { order: "1" }).save();
    expect(createdAt - before).toBeGreaterThanOrEqual(HOUR);
  });

  test("is not asked where the program has a clock of its own", async () => {
    const now = Date.UTC(2026, 0, 1);
    const clock = { now: () => now, sleep: () => new Promise<void>(() => {}) };
    const sdk = createSdk({ ...options, operations, store: storeAhead(), clock });
    expect((await sdk.operation("order", { order: "1" }).save()).createdAt).toBe(now);
  });
});
