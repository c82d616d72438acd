import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { type Bundle, bundle } from "../support/bundle.js";
import { type Child, startChild } from "../support/child.js";
import { type Moment, type ObservedServer, startObservedServer } from "../support/observed-server.js";
import type { Point, Told } from "./told.js";

let worker: Bundle;
let server: ObservedServer;
let directory: string;
const children: Child<Told>[] = [];

beforeAll(async () => {
  worker = await bundle(new URL("worker.ts", import.meta.url));
});
afterAll(() => worker?.remove());

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "samekey-"));
});
afterEach(async () => {
  await Promise.all(children.splice(0).map((child) => child.crash()));
  await server?.close();
  await rm(directory, { recursive: true, force: true });
});

function start(still: Point | "nowhere" = "nowhere", next: "resume" | "ask again" = "resume"): Child<Told> {
  const child = startChild<Told>(worker.path, { args: [server.url, join(directory, "orders.sqlite"), still, next] });
  children.push(child);
  return child;
}

interface Case {
  readonly name: string;
  /** Where it is killed: by what the worker tells, or by where the server stands. */
  readonly kill: { readonly point: Point } | { readonly moment: Moment };
  /** What its next life does first. @defaultValue "resume" */
  readonly next?: "resume" | "ask again";
  readonly status?: number;
  /** Answers from a gateway before the first real one. */
  readonly gateway?: { readonly status: number; readonly headers: Record<string, string> };
  /** Requests that have arrived when it is killed, and in all. */
  readonly arrivals: readonly [before: number, all: number];
  readonly state?: "succeeded" | "rejected";
  /** How often the hook is called over both lives. */
  readonly hooks?: number;
}

const cases: readonly Case[] = [
  { name: "after save, before anything is sent", kill: { point: "saved" }, arrivals: [0, 1] },
  { name: "marked as perhaps sent, before the first byte", kill: { point: "headers" }, arrivals: [0, 1] },
  { name: "the request has arrived, nothing is done", kill: { moment: "arrived" }, arrivals: [1, 2] },
  { name: "the effect is committed, nothing is answered", kill: { moment: "committed" }, arrivals: [1, 2] },
  {
    name: "the effect is committed, nothing is answered; then only asked for again",
    kill: { moment: "committed" },
    next: "ask again",
    arrivals: [1, 2],
  },
  { name: "half of the answer has arrived", kill: { moment: "replying" }, arrivals: [1, 2] },
  { name: "the whole answer has arrived, nothing is recorded", kill: { point: "answered" }, arrivals: [1, 2] },
  {
    name: "refused, nothing is answered",
    kill: { moment: "committed" },
    status: 402,
    arrivals: [1, 2],
    state: "rejected",
  },
  {
    name: "refused, nothing is recorded",
    kill: { point: "answered" },
    status: 402,
    arrivals: [1, 2],
    state: "rejected",
  },
  {
    name: "waiting for the next attempt",
    kill: { point: "retry" },
    gateway: { status: 503, headers: { "retry-after": "2" } },
    arrivals: [1, 2],
  },
  { name: "in the settled hook", kill: { point: "hook" }, arrivals: [1, 1], hooks: 2 },
  {
    name: "in the settled hook of a refusal",
    kill: { point: "hook" },
    status: 402,
    arrivals: [1, 1],
    state: "rejected",
    hooks: 2,
  },
];

it.each(cases)(
  "killed: $name",
  async ({ kill, next, status, gateway, arrivals, state = "succeeded", hooks = 1 }) => {
    server = await startObservedServer({ status });
    if (gateway) server.refuse(gateway.status, 1, gateway.headers);

    const killed = start("point" in kill ? kill.point : "nowhere");
    if ("point" in kill) {
      await killed.told((told) => told.what === "point" && told.point === kill.point);
      await killed.crash();
    } else {
      await new Promise<void>((done, fail) => {
        server.at(kill.moment, () => killed.crash().then(done, fail));
      });
    }
    expect(server.arrivals).toHaveLength(arrivals[0]);

    const restarted = start("nowhere", next);
    const done = await restarted.told((told) => told.what === "done");
    await restarted.ended();

    expect(server.arrivals).toHaveLength(arrivals[1]);
    expect(new Set(server.arrivals.map(({ key, sha256 }) => `${key} ${sha256}`)).size).toBe(1);
    expect([...server.effects]).toEqual([["order-7", 1]]);
    expect(server.overlaps).toBe(0);
    expect(done).toMatchObject({ state, key: server.arrivals[0]?.key });
    if (state === "succeeded") expect(done).toMatchObject({ data: { order: "order-7", receipt: 1 } });
    const told = [killed, restarted].flatMap(({ messages }) => messages.filter(({ what }) => what === "hook"));
    expect(told).toEqual(Array(hooks).fill({ what: "hook", state, key: server.arrivals[0]?.key }));

    const [first, second] = server.arrivals;
    if (gateway) expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(2_000);
    // A lease that had to run out first would take longer.
  },
  25_000,
);
