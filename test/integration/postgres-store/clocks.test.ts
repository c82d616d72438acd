import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { type Bundle, bundle } from "../../support/bundle.js";
import { type Child, startChild } from "../../support/child.js";
import type { Told } from "./clocks.js";
import { world } from "./fixture.js";

const HOUR = 3_600_000;
const patience = { timeout: 60_000, interval: 20 };

const at = world();
let program: Bundle;
const children = new Set<Child<Told>>();

beforeAll(async () => {
  program = await bundle(new URL("clocks.ts", import.meta.url));
});
afterAll(() => program?.remove());
afterEach(async () => {
  await Promise.all([...children].map((child) => child.crash()));
  children.clear();
});

async function machine(offset: number): Promise<Child<Told>> {
  const child = startChild<Told>(program.path, { args: [at.url, at.server.url, at.name, String(offset)] });
  children.add(child);
  await child.told(({ what }) => what === "ready");
  return child;
}

function order(child: Child<Told>, order: string): Promise<Told> {
  child.process.send(order);
  return child.told((message) => message.what === "done" && message.order === order);
}

const arrivals = (of: string) => at.server.arrivals.filter(({ order }) => order === of);

describe.each([
  ["an hour fast", HOUR],
  ["an hour slow", -HOUR],
])("beside a machine whose clock is %s", (_, offset) => {
  test("a wait that the server asked for is kept", { timeout: 90_000 }, async () => {
    const [right, wrong] = await Promise.all([machine(0), machine(offset)]);
    at.server.refuse(429, 3, { "retry-after": "1" });
    const sent = order(right, "asked to wait");
    const other = order(wrong, "another");
    await Promise.all([sent, other]);
    const times = at.server.arrivals.map(({ order: of, at: when }) => ({ of, when }));
    for (const of of ["asked to wait", "another"]) {
      const mine = times.filter((one) => one.of === of).map(({ when }) => when);
      const waits = mine.slice(1).map((when, index) => when - (mine[index] ?? 0));
      expect(Math.min(...waits, 1_000), `${of}: ${mine.join(", ")}`).toBeGreaterThan(950);
    }
    expect(at.server.arrivals).toHaveLength(5);
  });

  test("what is under way on either is left alone by the other", { timeout: 90_000 }, async () => {
    const machines = await Promise.all([machine(0), machine(offset)]);
    for (const [index, mine] of machines.entries()) {
      const other = machines[1 - index] as Child<Told>;
      let release = (): void => {};
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      at.server.at("arrived", () => held);
      const slow = order(mine, `slow ${index}`);
      await vi.waitFor(() => expect(arrivals(`slow ${index}`)).toHaveLength(1), patience);
      // Each time it has done something it looks for more.
      for (const turn of [1, 2, 3]) await order(other, `meanwhile ${index}/${turn}`);
      release();
      await slow;
      expect(arrivals(`slow ${index}`)).toHaveLength(1);
    }
    expect(at.server.overlaps).toBe(0);
    expect([...at.server.effects.values()]).toEqual(Array(8).fill(1));
  });
});
