import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { type Bundle, bundle } from "../support/bundle.js";
import { type Child, startChild } from "../support/child.js";
import { type ObservedServer, startObservedServer } from "../support/observed-server.js";
import type { FleetTold } from "./fleet-worker.js";

/** Two processes, four lines of orders in each. */
const LINES = 8;
/** Milliseconds; on a busy machine thousands of synced writes take their time. */
const PATIENCE = 120_000;

let program: Bundle;
let server: ObservedServer;
let directory: string;
const children = new Set<Child<FleetTold>>();

beforeAll(async () => {
  program = await bundle(new URL("fleet-worker.ts", import.meta.url));
});
afterAll(() => program?.remove());

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "samekey-"));
  server = await startObservedServer({ work: () => Math.random() * 5 });
});
afterEach(async () => {
  await Promise.all([...children].map((child) => child.crash()));
  children.clear();
  await server.close();
  await rm(directory, { recursive: true, force: true });
});

function start(first: number, each: number): Child<FleetTold> {
  const shares = [first, LINES / 2, each].map(String);
  const child = startChild<FleetTold>(program.path, { args: [server.url, join(directory, "fleet.sqlite"), ...shares] });
  children.add(child);
  return child;
}

const recorded = (child: Child<FleetTold>) => child.told(({ what }) => what === "recorded");

async function expectEachOnce(orders: number): Promise<void> {
  await vi.waitUntil(() => server.effects.size === orders, { timeout: PATIENCE, interval: 50 });
  expect([...server.effects.values()].filter((times) => times !== 1)).toEqual([]);
  expect(server.overlaps).toBe(0);
  const requests = new Set(server.arrivals.map(({ order, key, sha256 }) => `${order} ${key} ${sha256}`));
  expect(requests.size).toBe(orders);
}

async function expectEachTold(orders: number, told: () => readonly FleetTold[]): Promise<void> {
  const settled = (): Set<string> => new Set(told().flatMap((news) => (news.what === "settled" ? news.order : [])));
  await vi.waitUntil(() => settled().size === orders, { timeout: PATIENCE, interval: 200 });
}

it("two processes on one file, 8 × 500 operations: nothing lost, nothing sent twice", {
  timeout: 3 * PATIENCE,
}, async () => {
  const [each, orders] = [500, 4_000];
  const fleet = [start(0, each), start(LINES / 2, each)];
  await Promise.all(fleet.map(recorded));
  await expectEachOnce(orders);
  expect(server.arrivals).toHaveLength(orders);
  await expectEachTold(orders, () => fleet.flatMap(({ messages }) => messages));

  for (const child of fleet) child.process.kill("SIGTERM");
  await Promise.all(fleet.map((child) => child.ended()));
});

it("two processes on one file, killed ten times: nothing lost, nothing sent twice at once", {
  timeout: 3 * PATIENCE,
}, async () => {
  const [each, orders] = [150, 1_200];
  const told: FleetTold[] = [];

  /** Is killed five times, then lives until everything is recorded. */
  async function persist(first: number): Promise<Child<FleetTold>> {
    for (let kills = 0; kills < 5; kills++) {
      const child = start(first, each);
      const seen = server.effects.size;
      await vi.waitUntil(() => server.effects.size > seen + 40, { timeout: PATIENCE, interval: 5 });
      await sleep(Math.random() * 50);
      await child.crash();
      children.delete(child);
      told.push(...child.messages);
    }
    const last = start(first, each);
    await recorded(last);
    return last;
  }

  const fleet = await Promise.all([persist(0), persist(LINES / 2)]);
  await expectEachOnce(orders);
  await expectEachTold(orders, () => [...told, ...fleet.flatMap(({ messages }) => messages)]);
});
