import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { type Bank, type BankServer, newKey, startBank } from "./server-fixture.js";

let bank: Bank;
let one: BankServer;

beforeAll(async () => {
  bank = await startBank();
  one = await bank.serve();
});
afterAll(() => bank?.stop());
afterEach(() => bank.expectSound());

describe("a handler that the database breaks off", () => {
  it("because of a deadlock runs again, and both are done", async () => {
    const [there, back] = [newKey(), newKey()];
    const asked = [
      one.ask(there, { still: "halfway", transfer: { src: 5, dst: 6, amount: 1 } }),
      one.ask(back, { still: "halfway", transfer: { src: 6, dst: 5, amount: 1 } }),
    ];
    await Promise.all([one.stands(there, "halfway"), one.stands(back, "halfway")]);
    one.goOn();
    for (const answer of await Promise.all(asked)) expect(answer).toMatchObject({ status: 201, mark: "executed" });
    expect(one.runs(there) + one.runs(back)).toBe(3);
    expect([await bank.effects(there), await bank.effects(back)]).toEqual([1, 1]);
  });

  it("because it cannot be serialized runs again, and both are done", async () => {
    const [first, second] = [newKey(), newKey()];
    const filed = one.ask(first, { path: "/moves", still: "halfway" });
    await one.stands(first, "halfway");
    const meanwhile = one.ask(second, { path: "/moves" });
    await vi.waitUntil(
      async () => (await bank.query("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'")).length > 0,
    );
    one.goOn();
    for (const answer of [await filed, await meanwhile])
      expect(answer).toMatchObject({ status: 201, mark: "executed" });
    expect([one.runs(first), one.runs(second)]).toEqual([1, 2]);
  });

  it("every time is given up after a few runs: 503, and nothing is stored", async () => {
    const key = newKey();
    const answer = await one.ask(key, { path: "/conflicts" });
    expect(answer).toMatchObject({ status: 503, retryAfter: "1", mark: undefined });
    expect(one.runs(key)).toBeGreaterThan(1);
    expect(one.runs(key)).toBeLessThan(10);
    expect(await bank.effects(key)).toBe(0);
    expect(await bank.query("SELECT 1 FROM samekey.keys WHERE scope = '/conflicts'")).toEqual([]);
  });
});
