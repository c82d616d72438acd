import { setImmediate as macrotask } from "node:timers/promises";
import { createVirtualClock } from "samekey/testing";
import { describe, expect, test } from "vitest";

describe("sleep and advance", () => {
  test("nobody wakes before time is let pass, and then in order", async () => {
    const clock = createVirtualClock({ start: 1000 });
    const woken: string[] = [];
    for (const ms of [30, 10, 20, 10]) clock.sleep(ms).then(() => woken.push(`${ms}@${clock.now()}`));
    expect(clock.pending).toBe(4);
    await clock.advance(9);
    expect(woken).toEqual([]);
    await clock.advance(11);
    expect(woken).toEqual(["10@1010", "10@1010", "20@1020"]);
    expect([clock.now(), clock.pending]).toEqual([1020, 1]);
  });

  test("what follows from a waking, real turns of the event loop included, runs before the next", async () => {
    const clock = createVirtualClock({ start: 0 });
    const seen: number[] = [];
    const work = async () => {
      await clock.sleep(10);
      for (let i = 0; i < 5; i += 1) await macrotask();
      seen.push(clock.now());
      await clock.sleep(10);
      seen.push(clock.now());
    };
    void work();
    void clock.sleep(15);
    await clock.advance("1s");
    expect(seen).toEqual([10, 20]);
    expect(clock.now()).toBe(1000);
  });

  test("a sleep of nothing needs no advance", async () => {
    const clock = createVirtualClock();
    await clock.sleep(0);
    await clock.sleep(-5);
    expect(clock.pending).toBe(0);
  });

  test("time is in whole milliseconds, and nobody wakes early", async () => {
    const clock = createVirtualClock({ start: 0 });
    await clock.until(clock.sleep(0.25));
    expect(clock.now()).toBe(1);
  });

  test("an abort ends a sleep with the signal's reason", async () => {
    const clock = createVirtualClock();
    const controller = new AbortController();
    const sleeping = clock.sleep(1000, controller.signal);
    controller.abort("enough");
    await expect(sleeping).rejects.toBe("enough");
    await expect(clock.sleep(1000, controller.signal)).rejects.toBe("enough");
    expect(clock.pending).toBe(0);
  });

  test("one advance at a time", async () => {
    const clock = createVirtualClock();
    const first = clock.advance(1);
    await expect(clock.advance(1)).rejects.toThrow("already advancing");
    await first;
    await clock.advance(1);
  });
});

describe("jump", () => {
  test.each([86_400_000, -86_400_000])("moves the wall clock by %d and no sleeper", async (ms) => {
    const clock = createVirtualClock({ start: 1e12 });
    let woke = false;
    clock.sleep(100).then(() => {
      woke = true;
    });
    clock.jump(ms);
    expect(clock.now()).toBe(1e12 + ms);
    expect(clock.steady.now()).toBe(1e12);
    await clock.advance(99);
    expect(woke).toBe(false);
    await clock.advance(1);
    expect(woke).toBe(true);
    expect(clock.now()).toBe(1e12 + ms + 100);
  });
});

describe("until", () => {
  test("lets as much time pass as is needed", async () => {
    const clock = createVirtualClock({ start: 0 });
    const work = async () => {
      for (let i = 0; i < 3; i += 1) await clock.sleep(1000);
      return clock.now();
    };
    expect(await clock.until(work())).toBe(3000);
    await expect(clock.until(Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(clock.now()).toBe(3000);
  });

  test("says when a promise cannot settle, or not in time", async () => {
    const clock = createVirtualClock();
    await expect(clock.until(new Promise(() => {}))).rejects.toThrow("nobody sleeps");
    await expect(clock.until(clock.sleep(5000), "4s")).rejects.toThrow("still open after 4s");
  });
});

describe("loops are detected", () => {
  test("of sleeps that end at once", async () => {
    const clock = createVirtualClock();
    const loop = async () => {
      for (;;) await clock.sleep(0);
    };
    await expect(loop()).rejects.toThrow("a loop");
  });

  test("of turns that never come to rest", async () => {
    const clock = createVirtualClock();
    let on = true;
    const loop = async () => {
      while (on) {
        clock.now();
        await macrotask();
      }
    };
    void loop();
    await expect(clock.advance(1)).rejects.toThrow("a loop");
    on = false;
  });
});
