import { describe, expect, it } from "vitest";
import { planMigration } from "../../../src/server/migrate.js";
import { quoteLiteral } from "../../../src/server/sql/identifier.js";
import {
  boundTime,
  keyBound,
  madeAhead,
  type Partition,
  parsePartition,
  partitionsAfter,
  startOfDay,
} from "../../../src/server/sql/partitions.js";

const day = 86_400_000;

/** Makes and drops partitions every few days, as the job does. */
function live(begin: number, days: number, step: number, window: number): Partition[] {
  let partitions = partitionsAfter(startOfDay(begin - window), begin, window);
  for (let passed = 0; passed <= days; passed += step) {
    const now = begin + passed * day;
    partitions = partitions.filter(({ to }) => boundTime(to) > now - window);
    partitions.push(...partitionsAfter(boundTime(partitions.at(-1)?.to ?? keyBound(now)), now, window));
    for (const [index, { from }] of partitions.entries()) if (index > 0) expect(from).toBe(partitions[index - 1]?.to);
    expect(partitions[0]?.from).toSatisfy((from: string) => passed < step || from <= keyBound(now - window));
    expect(partitions.at(-1)?.to).toSatisfy((to: string) => to > keyBound(now + madeAhead));
  }
  return partitions;
}

describe("partitions", () => {
  it.each([
    ["an hour", 1 / 24, 1],
    ["a day", 1, 1],
    ["a month", 30, 1],
    ["a quarter", 90, 3],
    ["a year", 366, 13],
  ])("for a retention of %s leave no gap over years, and are some forty at most", (_, days, width) => {
    const partitions = live(Date.UTC(2027, 11, 30, 23), 800, 1, days * 1.1 * day);
    expect(partitions.length).toBeLessThanOrEqual(45);
    for (const { from, to } of partitions) expect(boundTime(to) - boundTime(from)).toBe(width * day);
  });

  it("cover what nobody asked for in months with one", () => {
    const now = Date.UTC(2028, 1, 29, 12);
    const [first, second] = partitionsAfter(Date.UTC(2027, 5, 1), now, 1.1 * day);
    expect(first).toEqual({
      name: "keys_20270601_20280229",
      from: keyBound(Date.UTC(2027, 5, 1)),
      to: keyBound(startOfDay(now)),
    });
    expect(second?.name).toBe("keys_20280229_20280301");
  });

  it("are known by their names", () => {
    for (const partition of partitionsAfter(Date.UTC(2027, 11, 31), Date.UTC(2027, 11, 31), 366 * day)) {
      expect(parsePartition(partition.name)).toEqual(partition);
    }
    for (const name of ["keys_opaque", "keys_20270101", "keys_20270101_20270102_pkey", "meta"]) {
      expect(parsePartition(name)).toBeUndefined();
    }
  });
});

describe("a migration", () => {
  const state = {
    version: 1,
    window: 95_040_001,
    horizon: Date.UTC(2027, 0, 10),
    droppedThrough: Date.UTC(2027, 0, 1),
    partitions: [],
    now: Date.UTC(2027, 0, 2, 12),
  };
  const context = { schema: "s", window: state.window, now: state.now };

  it("changes nothing where nothing is missing", () => {
    expect(planMigration(state, context)).toEqual([]);
  });

  it("makes the claim anew with every version", () => {
    const plan = planMigration(state, context, [() => "one", () => "two"]);
    expect(plan).toEqual(["two", expect.stringContaining("version = 2"), expect.stringContaining("FUNCTION")]);
  });

  it("refuses a newer schema", () => {
    expect(() => planMigration({ ...state, version: 2 }, context)).toThrow("newer version");
  });
});

describe("a quoted string", () => {
  it.each([
    ["it's", "'it''s'"],
    ["back\\slash'", " E'back\\\\slash'''"],
  ])("of %s is %s", (text, quoted) => {
    expect(quoteLiteral(text)).toBe(quoted);
  });
});
