import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { afterEach, describe, expect, it } from "vitest";
import type { Observer } from "../../../src/client/telemetry.js";
import type { OperationRecord } from "../../../src/index.js";
import { post } from "../../../src/index.js";
import type { ChannelMessages } from "../../../src/platform/channel-messages.js";
import { channels } from "../../../src/platform/channels.js";
import { createTestSdk } from "../../../src/testing/index.js";

const ofEvents = ["saved", "retry", "blocked", "settled", "unresolved"] as const;
const names: readonly (keyof ChannelMessages)[] = [
  ...ofEvents.map((event) => `samekey:${event}` as const),
  "samekey:attempt:start",
  "samekey:attempt:end",
];

const stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

function listen(): { channel: string | symbol; message: unknown }[] {
  const heard: { channel: string | symbol; message: unknown }[] = [];
  const hear = (message: unknown, channel: string | symbol): void => void heard.push({ channel, message });
  for (const name of names) {
    subscribe(name, hear);
    stops.push(() => unsubscribe(name, hear));
  }
  return heard;
}

/** Joins an Sdk whose events are raised by hand. */
function join(): { raise: (event: string, record: OperationRecord) => void; observer: Observer } {
  const listeners = new Map<string, (record: never) => void>();
  const observer = channels.join({
    name: "shop",
    operations: [],
    clock: { now: () => 0, sleep: async () => {} },
    store: () => Promise.reject(new Error("it was asked for its store")),
    on: (event, listener) => {
      listeners.set(event, listener);
      return () => {};
    },
  });
  return { raise: (event, record) => listeners.get(event)?.(record as never), observer };
}

describe("the channels of diagnostics_channel", () => {
  it("make no message while nobody listens, and follow no attempt", () => {
    const unread = new Proxy({} as OperationRecord, {
      get(_, field) {
        throw new Error(`${String(field)} was read`);
      },
    });
    const { raise, observer } = join();
    for (const event of ofEvents) expect(() => raise(event, unread)).not.toThrow();
    expect(observer.onAttempt?.({ record: unread, call: undefined, isBase: true })).toBeUndefined();
    listen();
    for (const event of ofEvents) expect(() => raise(event, unread)).toThrow("was read");
  });

  it("tell of whoever listens from then on, and of nobody who has stopped", async () => {
    const app = createTestSdk({
      operations: { transfer: post<{ amount: number }>("/transfers") },
      telemetry: channels,
    });
    await app.until(app.sdk.operation("transfer", { amount: 1 }).send());
    const heard = listen();
    await app.until(app.sdk.operation("transfer", { amount: 2 }).send());
    const order = ["samekey:saved", "samekey:attempt:start", "samekey:attempt:end", "samekey:settled"];
    expect(heard.map(({ channel }) => channel)).toEqual(order);
    for (const stop of stops.splice(0)) stop();
    await app.until(app.sdk.operation("transfer", { amount: 3 }).send());
    expect(heard).toHaveLength(order.length);
  });

  it("publish plain objects that survive a clone", async () => {
    const app = createTestSdk({
      operations: { transfer: post<{ amount: number }>("/transfers") },
      telemetry: channels,
    });
    const heard = listen();
    await app.until(app.sdk.operation("transfer", { amount: 1 }).send());
    for (const { message } of heard) expect(structuredClone(message)).toEqual(message);
  });

  it("tell why an operation was given up", () => {
    const heard = listen();
    const { raise } = join();
    raise("unresolved", {
      id: "one",
      name: "transfer",
      state: "unresolved",
      code: "attempts_exhausted",
      attempts: 8,
      request: { method: "POST", url: "https://user:secret@bank.example/transfers?token=secret#part" },
      createdAt: 1_000,
      settledAt: 61_000,
    } as OperationRecord);
    expect(heard).toEqual([
      {
        channel: "samekey:unresolved",
        message: {
          sdk: "shop",
          id: "one",
          operation: "transfer",
          state: "unresolved",
          attempts: 8,
          method: "POST",
          url: "https://bank.example/transfers",
          createdAt: 1_000,
          code: "attempts_exhausted",
          status: undefined,
          source: "none",
          ms: 60_000,
        },
      },
    ]);
  });
});
