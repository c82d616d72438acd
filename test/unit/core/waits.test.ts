import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { backoff, defaultRetry } from "../../../src/core/backoff.js";
import { type Duration, toMs } from "../../../src/core/durations.js";
import { fraction } from "../../../src/core/random.js";

const almostOne = 1 - 2 ** -32;

describe("backoff", () => {
  it.each([
    [1, 500],
    [2, 1000],
    [3, 2000],
    [6, 16_000],
    [7, 30_000],
    [40, 30_000],
    [5000, 30_000],
  ])("attempt %d waits up to %d ms", (attempt, bound) => {
    expect(backoff(attempt, 500, 30_000, almostOne)).toBe(bound);
    expect(backoff(attempt, 500, 30_000, 0.5)).toBe(bound / 2);
    expect(backoff(attempt, 500, 30_000, 0)).toBe(0);
  });

  it("F39 is a whole number between nothing and the cap, whatever the attempt", () => {
    const attempts = fc.integer({ min: 1, max: 1e9 });
    fc.assert(
      fc.property(attempts, fc.double({ min: 0, max: almostOne, noNaN: true }), (attempt, random) => {
        const wait = backoff(attempt, defaultRetry.base, defaultRetry.backgroundCap, random);
        return Number.isSafeInteger(wait) && wait >= 0 && wait <= defaultRetry.backgroundCap;
      }),
    );
  });

  it("is by default 500 ms at first, 30 s at most while someone waits, 15 min in the background, without an end", () => {
    expect(defaultRetry).toEqual({
      attempts: Number.POSITIVE_INFINITY,
      base: 500,
      cap: 30_000,
      backgroundCap: 900_000,
    });
    expect(Object.isFrozen(defaultRetry)).toBe(true);
  });
});

describe("a random fraction", () => {
  it.each([
    [[0, 0, 0, 0], 0],
    [[128, 0, 0, 0], 0.5],
    [[255, 255, 255, 255], almostOne],
    [[0, 0, 0, 1], 2 ** -32],
  ])("of the bytes %j is %d", (bytes, expected) => {
    expect(fraction((size) => Uint8Array.from(bytes).subarray(0, size))).toBe(expected);
  });
});

describe("a duration", () => {
  it.each<[Duration, number]>([
    [0, 0],
    [1500, 1500],
    [1500.4, 1500],
    ["500ms", 500],
    ["30s", 30_000],
    ["1.5s", 1500],
    ["1.1s", 1100],
    ["10m", 600_000],
    ["24h", 86_400_000],
    ["30d", 2_592_000_000],
    ["1y", 31_536_000_000],
  ])("%j is %d ms", (value, ms) => {
    expect(toMs(value, "wait")).toBe(ms);
  });

  it.each([
    [-1, "-1"],
    [Number.NaN, "NaN"],
    [Number.POSITIVE_INFINITY, "Infinity"],
    ["", '""'],
    ["30", '"30"'],
    ["30 s", '"30 s"'],
    ["s", '"s"'],
    ["-5s", '"-5s"'],
    ["1e3s", '"1e3s"'],
    ["30S", '"30S"'],
    ["30s\n", '"30s\\n"'],
    [`${"9".repeat(400)}y`, `"${"9".repeat(400)}y"`],
    [10n, "10"],
    [null, "null"],
    [undefined, "undefined"],
    [true, "true"],
  ])("%s is refused, naming the option and the value", (value, shown) => {
    expect(() => toMs(value as Duration, "retry.base")).toThrow(
      expect.objectContaining({
        code: "bad_option",
        message: expect.stringContaining(`\`retry.base\` is ${shown}, expected milliseconds or a text such as "30s"`),
      }),
    );
  });
});
