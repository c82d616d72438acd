/** Programs with different profiles over one store: an answer is read by the profile that it was recorded under, or not at all. */

import { type Finding, PendingError, post, wrapFetch } from "samekey";
import { defineProfile, stripe, yookassa } from "samekey/profiles";
import { memoryStore } from "samekey/stores/memory";
import { createVirtualClock } from "samekey/testing";
import { describe, expect, test } from "vitest";
import type { LogEntry } from "../../../src/client/types.js";
import type { Store } from "../../../src/store.js";
import { createBrowser, createWatchedStore, fate } from "./kit.js";

const acme = defineProfile({
  name: "acme",
  retention: "24h",
  read: (answer) =>
    answer.status === 400 && answer.codes.includes("processing")
      ? { kind: "retry", certain: false, after: 100 }
      : undefined,
});

const processing = (): Response => Response.json({ code: "processing" }, { status: 400 });

/** Applies each new key at once, and says so only when it was asked `times` times before. */
function slowServer(header: string, first: () => Response, times = 1) {
  const seen = new Map<string, number>();
  const fetch = (async (_: unknown, init: RequestInit) => {
    const key = new Headers(init.headers).get(header) ?? "";
    const asked = (seen.get(key) ?? 0) + 1;
    seen.set(key, asked);
    return asked <= times
      ? first()
      : Response.json({ id: "1" }, { status: 201, headers: { "idempotency-replayed": "true" } });
  }) as typeof globalThis.fetch;
  return { fetch, seen };
}

function world(profile: ReturnType<typeof defineProfile>, first: () => Response, times?: number) {
  const browser = createBrowser();
  const server = slowServer(profile.header ?? "idempotency-key", first, times);
  const log: LogEntry[] = [];
  const tell = (entry: LogEntry): void => void log.push(entry);
  const owner = () =>
    browser.open({ fetch: server.fetch, operations: { charge: post<object>("/charges", { profile }) } });
  const other = () =>
    browser.open({ fetch: server.fetch, log: tell, operations: { other: post("/other", { wait: "1m" }) } });
  const renamed = (settled?: () => void) =>
    browser.open({
      fetch: server.fetch,
      log: tell,
      operations: { charge: post<object>("/charges", { profile: stripe, wait: "1m", settled }) },
    });
  return { ...browser, ...server, log, owner, other, renamed };
}

describe.each([
  ["a profile of the program's own", acme, processing],
  ["a built-in profile", yookassa, () => new Response(null, { status: 202 })],
])("%s", (_, profile, first) => {
  test.each(["other", "renamed"] as const)("is needed to drive what was recorded under it: %s", async (kind) => {
    const { clock, seen, owner, [kind]: open } = world(profile, first);
    const a = owner();
    const charge = () => a.operation("charge", { amount: 1 }, { intent: "order-1" });
    const { id } = await clock.until(charge().save());
    const b = open();
    b.start();
    await clock.advance("10m");
    expect(seen.size).toBe(0);
    expect((await a.get(id))?.state).toBe("pending");
    await clock.until(charge().send());
    expect([...seen.values()]).toEqual([2]);
    await clock.until(Promise.all([a.close(), b.close()]));
  });
});

test("a deploy that has the profile takes up at once what one without it has left", async () => {
  const { clock, seen, owner, other } = world(acme, processing);
  const a = owner();
  const { id } = await clock.until(a.operation("charge", {}).save());
  await clock.until(a.close());
  const b = other();
  b.start();
  await clock.advance("1h");
  const later = owner();
  later.start();
  await clock.advance("10s");
  expect((await b.get(id))?.state).toBe("succeeded");
  expect([...seen.values()]).toEqual([2]);
  await clock.until(Promise.all([b.close(), later.close()]));
});

test("`resume` comes back and counts it as remaining", async () => {
  const { clock, owner, other, seen } = world(acme, processing);
  const a = owner();
  await clock.until(a.operation("charge", {}).save());
  const report = await clock.until(other().resume({ wait: "1m" }), "30s");
  expect(report).toMatchObject({ succeeded: 0, rejected: 0, remaining: 1 });
  expect(seen.size).toBe(0);
});

test.each(["other", "renamed"] as const)(
  "who sends it without the profile waits no longer than asked: %s",
  async (kind) => {
    const { clock, owner, seen, [kind]: open } = world(acme, processing);
    const { id } = await clock.until(owner().operation("charge", {}).save());
    const b = open();
    const error = await clock.until(fate(b.attach(id).send({ wait: "5s" })));
    expect(error).toBeInstanceOf(PendingError);
    expect(error).toMatchObject({ code: "pending" });
    expect(seen.size).toBe(0);
  },
);

test("who sends it without the profile gets the outcome once another has it", async () => {
  const { clock, owner, other, seen } = world(acme, processing);
  const a = owner();
  const { id } = await clock.until(a.operation("charge", {}).save());
  const sent = other().attach(id).send();
  await clock.advance("30s");
  await clock.until(a.resume());
  expect(await clock.until(sent)).toMatchObject({ status: 201 });
  expect([...seen.values()]).toEqual([2]);
});

test("who sent it without the profile does not look for it any more once the wait is over", async () => {
  const { clock, store, owner, open } = world(acme, processing);
  const { id } = await clock.until(owner().operation("charge", {}).save());
  const watched = createWatchedStore(store);
  const b = open({ store: watched.store, operations: { other: post<object>("/other") } });
  await clock.until(fate(b.attach(id).send({ wait: "5s" })));
  await clock.advance("1m");
  watched.log.length = 0;
  await clock.advance("1h");
  expect(watched.log).toEqual([]);
  await clock.until(fate(b.attach(id).send({ wait: "5s" })));
  expect(watched.log).toContain("get begins");
});

test("claims leave out what was met once, and nothing else", async () => {
  const { clock, store, fetch, owner, open } = world(acme, processing);
  const a = owner();
  for (let n = 0; n < 100; n++) await clock.until(a.operation("charge", { n }).save());
  const looked: string[] = [];
  const claims = new Proxy(store, {
    get: (target, verb: keyof Store) => {
      const claim: Store["claim"] = (query, apply) =>
        target.claim(query, (record) => {
          looked.push(record.name);
          return apply(record);
        });
      const member: unknown = verb === "claim" ? claim : target[verb];
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
  const b = open({ fetch, store: claims, operations: { other: post<object>("/other") } });
  const { id } = await clock.until(b.operation("other", {}).save());
  b.start();
  await clock.advance("1h");
  expect((await b.get(id))?.attempts).toBeGreaterThan(0);
  expect(looked.filter((name) => name === "charge")).toEqual(["charge"]);
});

test("the log tells once which operation waits for which profile, and what to do", async () => {
  const { clock, owner, other, log } = world(acme, processing);
  const a = owner();
  for (let n = 0; n < 3; n++) await clock.until(a.operation("charge", { n }).save());
  other().start();
  await clock.advance("10m");
  const told = log.filter(({ level }) => level === "warn");
  expect(told).toMatchObject([
    { name: "charge", message: expect.stringMatching(/`charge` waits for a program that declares it.*"acme"/) },
  ]);
});

test("an unknown outcome, and the hook that is owed it, are left to the program that has the profile", async () => {
  let finding: Finding | Error = new Error("the API does not answer");
  const profile = defineProfile({
    name: "bank",
    retention: "24h",
    reconcile: async () => {
      if (finding instanceof Error) throw finding;
      return finding;
    },
  });
  const told: string[] = [];
  const { clock, owner, renamed } = world(profile, () => new Response(null, { status: 503 }), Infinity);
  const a = owner();
  const { id } = await clock.until(a.operation("charge", {}, { deadline: "50ms" }).save());
  await clock.until(fate(a.attach(id).send()));
  await clock.until(a.close());
  const b = renamed(() => void told.push("b"));
  b.start();
  await clock.until(fate(b.attach(id).send()));
  await clock.advance("1h");
  expect(told).toEqual([]);
  expect(await b.get(id)).toMatchObject({ state: "unresolved", delivered: false });
  finding = "applied";
  const later = owner();
  later.start();
  await clock.advance("1m");
  expect(await later.get(id)).toMatchObject({ resolution: { how: "applied" }, delivered: true });
  expect(told).toEqual([]);
  await clock.until(Promise.all([b.close(), later.close()]));
});

test("a person may decide about it without the profile, and its hook is still owed", async () => {
  const { clock, owner, renamed } = world(acme, processing);
  const { id } = await clock.until(owner().operation("charge", {}).save());
  const b = renamed();
  await clock.until(b.cancel(id));
  expect(await b.get(id)).toMatchObject({ state: "canceled", delivered: false });
});

test("of two wrapped fetches of one name, each drives what it can read", async () => {
  const clock = createVirtualClock();
  const store = memoryStore();
  const { fetch, seen } = slowServer("idempotence-key", () => new Response(null, { status: 202 }));
  const options = {
    name: "w",
    owner: "single",
    retention: "24h",
    baseUrl: "https://api.example.com",
    clock,
    store,
    wait: "5s",
  } as const;
  const down = (async () => {
    throw new TypeError("no network");
  }) as typeof globalThis.fetch;
  const offline = wrapFetch(down, { ...options, profile: yookassa });
  const pending = await clock.until(fate(offline("https://api.example.com/pay", { method: "POST", body: "a" })));
  expect(pending).toBeInstanceOf(PendingError);
  // Nobody else is at it any more.
  await clock.until(offline.sdk.close());
  const other = wrapFetch(fetch, { ...options, profile: stripe });
  expect(await clock.until(other.sdk.resume({ wait: "1h" }))).toMatchObject({ succeeded: 0, remaining: 1 });
  expect(seen.size).toBe(0);
  const same = wrapFetch(fetch, { ...options, profile: yookassa });
  expect(await clock.until(same.sdk.resume({ wait: "1h" }))).toMatchObject({ succeeded: 1, remaining: 0 });
  expect([...seen.values()]).toEqual([2]);
});

test.each(["other", "renamed"] as const)("what no profile reads is driven as it was recorded: %s", async (kind) => {
  const plain = defineProfile({ name: "plain", retention: "24h" });
  const { clock, owner, [kind]: open } = world(plain, () => Response.json({}, { status: 201 }));
  const { id, wire } = await clock.until(owner().operation("charge", {}).save());
  expect(wire?.profile).toBeUndefined();
  const b = open();
  await clock.until(b.resume());
  expect((await b.get(id))?.state).toBe("succeeded");
});
