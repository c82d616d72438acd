import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { honest } from "./server-ask.js";
import { type Bank, type BankServer, newKey, startBank } from "./server-fixture.js";

let bank: Bank;
let one: BankServer;
let two: BankServer;

beforeAll(async () => {
  bank = await startBank();
  [one, two] = await Promise.all([bank.serve(), bank.serve()]);
});
afterAll(() => bank?.stop());
afterEach(() => bank.expectSound());

const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

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
    // Whether they get into each other's way once more is the database's affair.
    expect(one.runs(there) + one.runs(back)).toBeGreaterThanOrEqual(3);
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

describe("a pool of one", () => {
  it("carries twenty requests under one key: one runs, the rest get its answer", async () => {
    const narrow = await bank.serve({ connections: 1 });
    const key = newKey();
    const answers = await Promise.all(times(20, () => narrow.ask(key)));
    expect(answers.map(({ mark }) => mark).sort()).toEqual(["executed", ...Array(19).fill("replayed")]);
    expect(new Set(answers.map(({ body }) => body)).size).toBe(1);
    expect(await bank.effects(key)).toBe(1);
  });

  it("carries twenty keys: each runs", async () => {
    const narrow = await bank.serve({ connections: 1 });
    const answers = await Promise.all(times(20, () => narrow.ask(newKey())));
    expect(answers.map(({ mark }) => mark)).toEqual(Array(20).fill("executed"));
    expect(new Set(answers.map(({ body }) => body)).size).toBe(20);
  });
});

// F93
describe("one key on two servers", () => {
  it("asked for sixteen times at once when it is done is never said to be busy", async () => {
    const key = newKey();
    const first = await one.ask(key);
    for (let round = 0; round < 50; round += 1) {
      const answers = await Promise.all(times(16, (index) => (index % 2 ? one : two).ask(key)));
      for (const answer of answers) expect(answer).toMatchObject({ status: 201, mark: "replayed", body: first.body });
    }
    expect(await bank.effects(key)).toBe(1);
  });

  it("asked for twenty times at once when it is new runs once, and nobody gets an error", async () => {
    for (let round = 0; round < 10; round += 1) {
      const key = newKey();
      const answers = await Promise.all(times(20, (index) => (index % 2 ? one : two).ask(key)));
      answers.forEach(honest);
      expect(answers.filter(({ mark }) => mark === "executed")).toHaveLength(1);
      for (const { status } of answers) expect([201, 409]).toContain(status);
      expect(one.runs(key) + two.runs(key)).toBe(1);
      expect(await bank.effects(key)).toBe(1);
    }
  });
});
