import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type Bank, type BankServer, newKey, startBank } from "./server-fixture.js";
import type { Point } from "./server-told.js";

let bank: Bank;
/** The one that does its work. */
let other: BankServer;

beforeAll(async () => {
  bank = await startBank();
  other = await bank.serve();
});
afterAll(() => bank?.stop());
afterEach(() => bank.expectSound());

const retryable = { status: 503, retryAfter: "1", mark: undefined };
/** Of handlers, and of transactions that idle; ms. */
const short = { handlerTimeout: 700 };

// F91
describe("a process that stands still", () => {
  it.each<[string, Point]>([
    ["in its handler", "worked"],
    ["before its COMMIT", "committing"],
  ])("%s for too long loses its effect, and its caller gets the retry's answer by asking again", async (_, point) => {
    const zombie = await bank.serve(short);
    const key = newKey();
    const asked = zombie.ask(key, { still: point });
    await zombie.stands(key, point);
    zombie.pause();

    const retry = await bank.settle(other, key);
    expect(retry).toMatchObject({ status: 201, mark: "executed" });

    zombie.resume();
    zombie.goOn();
    expect(await asked).toMatchObject(retryable);
    for (const server of [zombie, other]) {
      expect(await bank.settle(server, key)).toMatchObject({ mark: "replayed", body: retry.body });
    }
    expect(await bank.effects(key)).toBe(1);
  });

  it("for a while keeps its key, and finishes", async () => {
    const sleeper = await bank.serve();
    const key = newKey();
    const asked = sleeper.ask(key, { still: "worked" });
    await sleeper.stands(key, "worked");
    sleeper.pause();
    expect(await other.ask(key)).toMatchObject({ status: 409, error: "in_progress" });
    sleeper.resume();
    sleeper.goOn();
    const first = await asked;
    expect(first).toMatchObject({ status: 201, mark: "executed" });
    expect(await other.ask(key)).toMatchObject({ mark: "replayed", body: first.body });
    expect(await bank.effects(key)).toBe(1);
  });
});

// F90
describe("a handler that outlasts every caller", () => {
  it("runs once: whoever comes meanwhile is told 409, whoever comes later gets its answer", async () => {
    const slow = await bank.serve();
    const key = newKey();
    const asked = slow.ask(key, { still: "halfway", timeout: 1000 });
    await slow.stands(key, "halfway");
    expect((await asked).status).toBe(0);
    for (const server of [slow, other, slow, other, slow]) {
      const retries = await Promise.all([server.ask(key), server.ask(key), server.ask(key)]);
      for (const retry of retries) expect(retry).toMatchObject({ status: 409, error: "in_progress", retryAfter: "1" });
    }
    slow.goOn();
    expect(await bank.settle(other, key)).toMatchObject({ status: 201, mark: "replayed" });
    expect(slow.runs(key) + other.runs(key)).toBe(1);
    expect(await bank.effects(key)).toBe(1);
  });

  it("is told at its deadline, and what it does afterwards is not done", async () => {
    const slow = await bank.serve(short);
    const key = newKey();
    const asked = slow.ask(key, { still: "halfway" });
    await slow.stands(key, "halfway");
    await slow.child.told((told) => told.what === "aborted" && told.key === key);
    expect(await asked).toMatchObject({ ...retryable, error: "handler_timeout" });
    slow.goOn();
    expect(await bank.settle(slow, key)).toMatchObject({ status: 201, mark: "executed" });
    expect(slow.runs(key)).toBe(2);
    expect(await bank.effects(key)).toBe(1);
  });
});

// F91. Last, as it makes everybody's connections useless.
describe("a connection that swallows everything", () => {
  let severed: BankServer;
  beforeAll(async () => {
    severed = await bank.serve(short);
  });

  async function swallowedAt(point: Point) {
    const key = newKey();
    const asked = severed.ask(key, { still: point });
    await severed.stands(key, point);
    bank.proxy.swallow();
    severed.goOn();
    const first = await asked;
    expect(await bank.settle(severed, key)).toMatchObject({ status: 201, mark: "executed" });
    expect(await bank.effects(key)).toBe(1);
    return first;
  }

  it("before the claim is given up, and the next request gets another", async () => {
    // There has to be one in the pool.
    await bank.settle(severed, newKey());
    expect(await swallowedAt("arrived")).toMatchObject({ ...retryable, error: "unavailable" });
  });

  it("in the handler is given up at the deadline, and the key is free again", async () => {
    expect(await swallowedAt("halfway")).toMatchObject({ ...retryable, error: "handler_timeout" });
  });

  it("before the COMMIT is given up, and the retry finds out that nothing was done", async () => {
    expect(await swallowedAt("committing")).toMatchObject({ ...retryable, error: "outcome_unknown" });
  });
});
