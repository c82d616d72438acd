import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { type Bundle, bundle } from "../../support/bundle.js";
import { type Child, startChild } from "../../support/child.js";
import { world } from "./fixture.js";
import type { Told } from "./worker.js";

const LINES = 8;
const EACH = 25;
const patience = { timeout: 60_000, interval: 20 };

const at = world();
let program: Bundle;
const children = new Set<Child<Told>>();

beforeAll(async () => {
  program = await bundle(new URL("worker.ts", import.meta.url));
});
afterAll(() => program?.remove());
afterEach(async () => {
  await Promise.all([...children].map((child) => child.crash()));
  children.clear();
});

function start(share: { first?: number; lines?: number; how?: string } = {}): Child<Told> {
  const { first = 0, lines = 0, how = "work" } = share;
  const args = [at.url, at.server.url, at.name, first, lines, EACH, how].map(String);
  const child = startChild<Told>(program.path, { args });
  children.add(child);
  return child;
}

const recorded = (child: Child<Told>) => child.told(({ what }) => what === "recorded");

test("four workers on one database, 4 × 200 operations, each killed twice: nothing lost, nothing sent twice at once", {
  timeout: 120_000,
}, async () => {
  async function persist(first: number): Promise<void> {
    for (let kills = 0; kills < 2; kills++) {
      const child = start({ first, lines: LINES });
      const seen = at.server.effects.size;
      await vi.waitFor(() => expect(at.server.effects.size).toBeGreaterThan(seen + 20), patience);
      await child.crash();
      children.delete(child);
    }
    await recorded(start({ first, lines: LINES }));
  }
  await Promise.all([0, 1, 2, 3].map((i) => persist(i * LINES)));

  const orders = 4 * LINES * EACH;
  await vi.waitFor(() => expect(at.server.effects.size).toBe(orders), patience);
  expect([...at.server.effects.values()].filter((times) => times !== 1)).toEqual([]);
  expect(at.server.overlaps).toBe(0);
  const requests = new Set(at.server.arrivals.map(({ order, key, sha256 }) => `${order} ${key} ${sha256}`));
  expect(requests.size).toBe(orders);
  const sdk = at.sdk();
  await vi.waitFor(async () => expect(await sdk.counts()).toEqual({ succeeded: orders }), patience);
});

test("a process that is killed before it commits leaves nothing of what it recorded in its transaction", async () => {
  const child = start({ how: "hold" });
  const told = await child.told((message): message is Told & { id: string } => message.what === "open");
  await child.crash();
  const sdk = at.sdk();
  // Its locks are gone once the database has noticed.
  await vi.waitFor(async () => {
    const { rows } = await at.pool.query("select from pg_stat_activity where state = 'idle in transaction'");
    expect(rows).toEqual([]);
  }, patience);
  expect(await sdk.get(told.id)).toBeUndefined();
  expect(await sdk.counts()).toEqual({});
  await sdk.resume();
  expect(at.server.arrivals).toEqual([]);
});

test("what a process committed before it was killed is sent by another, once", async () => {
  const child = start({ how: "commit" });
  const told = await child.told((message): message is Told & { id: string } => message.what === "open");
  await child.crash();
  const sdk = at.sdk();
  expect(await sdk.get(told.id)).toMatchObject({ state: "pending", attempts: 0 });
  expect(await sdk.resume()).toMatchObject({ succeeded: 1, remaining: 0 });
  expect(at.server.effects).toEqual(new Map([["committed", 1]]));
});
