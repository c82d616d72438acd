import { createSdk, post } from "samekey";
import { memoryStore } from "samekey/stores/memory";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { type Bank, type BankServer, newKey, startBank } from "./server-fixture.js";
import { type Point, stillHeader, type Transfer } from "./server-told.js";

let bank: Bank;
/** The one that lives on. */
let other: BankServer;

beforeAll(async () => {
  bank = await startBank();
  other = await bank.serve();
});
afterAll(() => bank?.stop());
afterEach(() => bank.expectSound());

const moments: readonly [when: string, point: Point, then: "executed" | "replayed"][] = [
  ["before the claim", "arrived", "executed"],
  ["after the claim", "claimed", "executed"],
  ["halfway through its effect", "halfway", "executed"],
  ["after its effect", "worked", "executed"],
  ["before the commit", "committing", "executed"],
  ["after the commit", "committed", "replayed"],
  ["in the middle of the reply", "replying", "replayed"],
];

// F89, F113
describe("a server that is killed", () => {
  it.each(moments)("%s leaves all or nothing, and another one answers at once", async (_, point, mark) => {
    const doomed = await bank.serve();
    const key = newKey();
    const unanswered = doomed.ask(key, { still: point });
    await doomed.stands(key, point);
    await doomed.crash();
    expect((await unanswered).status).toBe(0);

    const answer = await bank.settle(other, key);
    expect(answer).toMatchObject({ status: 201, mark });
    expect(await other.ask(key)).toMatchObject({ mark: "replayed", body: answer.body });
    expect(await bank.effects(key)).toBe(1);
    expect(doomed.runs(key) + other.runs(key)).toBe({ arrived: 1, committed: 1, replying: 1 }[point as string] ?? 2);
  });

  it("while the database works for it leaves nothing, and another one answers at once", async () => {
    const doomed = await bank.serve();
    const key = newKey();
    const unanswered = doomed.ask(key, { still: "working" });
    const working = "SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%pg_sleep(600)'";
    await vi.waitUntil(async () => (await bank.query(working)).length === 1);
    expect(await other.ask(key)).toMatchObject({ status: 409 });
    await doomed.crash();
    expect((await unanswered).status).toBe(0);
    expect(await bank.settle(other, key)).toMatchObject({ mark: "executed" });
    expect(await bank.effects(key)).toBe(1);
  });
});

describe("samekey's client", () => {
  it.each(moments)("gets its answer where the server is killed %s", async (_, point, mark) => {
    const doomed = await bank.serve();
    let target = doomed;
    const sdk = createSdk({
      name: "kill",
      baseUrl: doomed.url,
      owner: "single",
      retention: "24h",
      store: memoryStore(),
      retry: { base: "20ms", cap: "100ms" },
      // Stands for the balancer in front.
      fetch: (input, init) => fetch(new URL(new URL(String(input)).pathname, target.url), init),
      headers: ({ attempt }) => (attempt === 1 ? { [stillHeader]: point } : {}),
      operations: { transfer: post<Transfer, { execution: string }>("/transfers") },
    });
    const operation = sdk.operation("transfer", { src: 3, dst: 4, amount: 7 }, { intent: "order-7" });
    const { key } = await operation.save();
    const sent = operation.send();
    await doomed.stands(key, point);
    target = other;
    await doomed.crash();
    expect(await sent).toMatchObject({ key, status: 201, source: mark });
    expect(await bank.effects(key)).toBe(1);
    await sdk.close();
  });
});
