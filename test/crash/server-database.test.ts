import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type Bank, type BankServer, newKey, startBank } from "./server-fixture.js";
import type { Point } from "./server-told.js";

let bank: Bank;
let server: BankServer;

beforeAll(async () => {
  bank = await startBank();
  server = await bank.serve();
});
afterAll(() => bank?.stop());
afterEach(() => bank.expectSound());

const within: readonly [when: string, point: Point][] = [
  ["after the claim", "claimed"],
  ["halfway through the effect", "halfway"],
  ["after the effect", "worked"],
  ["before the commit", "committing"],
];

/** Something happens while a request stands there; it is answered, then asked again. */
async function during(point: Point, fault: () => unknown) {
  const key = newKey();
  const asked = server.ask(key, { still: point });
  await server.stands(key, point);
  await fault();
  server.goOn();
  const first = await asked;
  const second = await bank.settle(server, key);
  expect(await server.ask(key)).toMatchObject({ mark: "replayed", body: second.body });
  expect(await bank.effects(key)).toBe(1);
  return { first, second };
}

const retryable = { status: 503, retryAfter: "1", mark: undefined };

// F89
describe("a connection", () => {
  it.each(within)("that the database ends %s costs one retry", async (_, point) => {
    const { first, second } = await during(point, () => bank.terminate());
    expect(first).toMatchObject(retryable);
    expect(second).toMatchObject({ mark: "executed" });
  });

  it.each(within)("that the network cuts %s costs one retry", async (_, point) => {
    const { first, second } = await during(point, () => bank.proxy.cut());
    expect(first).toMatchObject(retryable);
    expect(second).toMatchObject({ mark: "executed" });
  });

  it("that is cut after the commit costs nothing", async () => {
    const { first, second } = await during("committed", () => bank.proxy.cut());
    expect(first).toMatchObject({ status: 201, mark: "executed" });
    expect(second).toMatchObject({ mark: "replayed", body: first.body });
  });
});

describe.each(["simple", "extended"] as const)("a COMMIT (%s protocol)", (protocol) => {
  let own: BankServer;
  beforeAll(async () => {
    own = await bank.serve({ protocol });
  });

  it.each([
    ["lost on the way there", "executed"],
    ["lost on the way back", "replayed"],
  ] as const)("%s is answered 503, and the retry finds out that it is to be %s", async (fault, mark) => {
    const key = newKey();
    const struck = bank.proxy.atCommit(fault);
    const first = await own.ask(key);
    await struck;
    expect(first).toMatchObject({ ...retryable, error: "outcome_unknown" });
    const second = await bank.settle(own, key);
    expect(second).toMatchObject({ status: 201, mark });
    expect(own.runs(key)).toBe(mark === "executed" ? 2 : 1);
    expect(await bank.effects(key)).toBe(1);
  });
});

describe.each(["fast", "immediate"] as const)("a restart of the database (%s)", (mode) => {
  it.each(within)("%s costs one retry", async (_, point) => {
    const { first, second } = await during(point, () => bank.restart(mode));
    expect(first).toMatchObject(retryable);
    expect(second).toMatchObject({ mark: "executed" });
  });

  it("after the commit costs nothing", async () => {
    const { first, second } = await during("committed", () => bank.restart(mode));
    expect(first).toMatchObject({ status: 201, mark: "executed" });
    expect(second).toMatchObject({ mark: "replayed", body: first.body });
  });

  it("between two requests costs at most one retry, and loses no key", async () => {
    const key = newKey();
    const before = await server.ask(key);
    const restarting = bank.restart(mode);
    expect(await bank.settle(server, newKey())).toMatchObject({ mark: "executed" });
    await restarting;
    expect(await bank.settle(server, key)).toMatchObject({ mark: "replayed", body: before.body });
  });
});
