import { v7 } from "uuid";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  createIdempotency,
  type Handler,
  type Idempotency,
  type IdempotencyOptions,
  type ServerEvent,
} from "../../../src/server/index.js";
import { created, effect, type Fixture, gate, makePool, request, startFixture } from "./fixture.js";

let fixture: Fixture;
let events: ServerEvent[];

beforeAll(async () => {
  fixture = await startFixture();
}, 60_000);

afterAll(() => fixture.stop());

function observed(options: Partial<IdempotencyOptions> = {}): Idempotency {
  events = [];
  const observe = (event: ServerEvent) => void events.push(event);
  return createIdempotency({ db: fixture.pool, retention: "24h", observe, ...options });
}

const kinds = () => events.map(({ kind }) => kind);

describe("an observer", () => {
  it("is told what became of a new key, with how long it took and how long the handler did", async () => {
    await observed().run(request(v7()), effect() as Handler);
    const [event] = events;
    expect(events).toEqual([
      {
        kind: "executed",
        scope: "effects",
        status: 201,
        attempts: 1,
        duration: expect.any(Number),
        handlerDuration: expect.any(Number),
      },
    ]);
    expect(event?.handlerDuration).toBeGreaterThan(0);
    expect(event?.duration).toBeGreaterThan(event?.handlerDuration ?? Infinity);
  });

  it("is told of a replay, whose handler did not run", async () => {
    const key = v7();
    const engine = observed();
    await engine.run(request(key), () => created);
    await engine.run(request(key), () => created);
    expect(events[1]).toMatchObject({ kind: "replayed", status: 201, attempts: 0, handlerDuration: undefined });
  });

  it.each<[string, Handler, Partial<ServerEvent>]>([
    ["refused by status", () => ({ status: 402 }), { kind: "refused", status: 402 }],
    ["refused by name", () => ({ status: 200, disposition: "refused" }), { kind: "refused", status: 200 }],
    ["completed by name", () => ({ status: 404, disposition: "completed" }), { kind: "executed", status: 404 }],
    ["released", () => ({ status: 503 }), { kind: "released", status: 503 }],
  ])("tells what was %s apart", async (_, handler, event) => {
    await observed().run(request(v7()), handler);
    expect(events).toEqual([expect.objectContaining({ ...event, attempts: 1 })]);
  });

  it("is told of requests that never came to the handler", async () => {
    const key = v7();
    const engine = observed();
    await engine.run(request(key), () => created);
    await engine.run(request(key, "other"), () => created);
    await engine.run(request("no key\n"), () => created);
    await engine.run(request(v7({ msecs: Date.now() - 3 * 86_400_000 })), () => created);
    expect(kinds()).toEqual(["executed", "mismatched", "invalid", "expired"]);
  });

  it("is told of a key in progress while it is", async () => {
    const key = v7();
    const engine = observed();
    const [began, goOn] = [gate(), gate()];
    const slow = engine.run(request(key), async () => {
      began.open();
      await goOn.passed;
      return created;
    });
    await began.passed;
    await engine.run(request(key), () => created);
    goOn.open();
    await slow;
    expect(kinds()).toEqual(["in_progress", "executed"]);
  });

  it("is told that a handler threw, and the error goes on to the caller as it is", async () => {
    const error = new Error("not now");
    const run = observed().run(request(v7()), () => Promise.reject(error));
    await expect(run).rejects.toBe(error);
    expect(events).toEqual([expect.objectContaining({ kind: "failed", status: undefined, attempts: 1 })]);
  });

  it("leaves it to the engine to say that a handler answered with nothing", async () => {
    const run = observed().run(request(v7()), (() => undefined) as never);
    await expect(run).rejects.toMatchObject({ code: "bad_option" });
    expect(kinds()).toEqual(["failed"]);
  });

  it("is told of a handler past its deadline, with its time so far, and of a database that is away", async () => {
    const goOn = gate();
    await observed({ handlerTimeout: 50 }).run(request(v7()), async () => {
      await goOn.passed;
      return created;
    });
    goOn.open();
    expect(events).toEqual([expect.objectContaining({ kind: "unavailable", status: 503, attempts: 1 })]);
    expect(events[0]?.handlerDuration).toBeGreaterThan(0);

    const away = makePool("postgres://nobody@127.0.0.1:1/none", 1);
    await observed({ db: away }).run(request(v7()), () => created);
    await away.end();
    expect(events).toEqual([expect.objectContaining({ kind: "unavailable", attempts: 0 })]);
  });

  it("never sees tenant, key or body", async () => {
    const key = v7();
    await observed().run({ ...request(key), tenant: "acct_secret" }, () => ({ status: 201, body: "4242" }));
    expect(JSON.stringify(events)).not.toMatch(new RegExp(`${key}|acct_secret|4242`));
  });

  it.each<[string, () => unknown]>([
    [
      "throws",
      () => {
        throw new Error("observer");
      },
    ],
    ["rejects", () => Promise.reject(new Error("observer"))],
    ["never ends", () => new Promise(() => {})],
  ])("that %s changes nothing", async (_, observe) => {
    const engine = observed({ observe: observe as () => void });
    const key = v7();
    expect(await engine.run(request(key), effect() as Handler)).toMatchObject({ kind: "executed", status: 201 });
    expect(await engine.run(request(key), effect() as Handler)).toMatchObject({ kind: "replayed" });
    expect(await fixture.effects(key)).toBe(1);
  });
});
