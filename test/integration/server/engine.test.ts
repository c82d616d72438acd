import { randomUUID } from "node:crypto";
import { v7 } from "uuid";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MisuseError } from "../../../src/errors.js";
import { sqlState } from "../../../src/server/failure.js";
import {
  type Answer,
  createIdempotency,
  type Handler,
  type HeaderPair,
  type Idempotency,
} from "../../../src/server/index.js";
import { sortableKey } from "../../../src/server/key.js";
import { drivers, type OpenDriver } from "./drivers.js";
import { created, effectOn, errorOf, type Fixture, gate, header, request, startFixture, text } from "./fixture.js";

let fixture: Fixture;

beforeAll(async () => {
  fixture = await startFixture();
}, 60_000);

afterAll(() => fixture.stop());

const kinds: [string, () => string][] = [
  ["a v7 key", () => v7()],
  ["a v4 key", () => randomUUID()],
  ["any other key", () => `order-${Math.random()}`],
];

describe.each(drivers)("on $name,", (driver) => {
  let opened: OpenDriver;
  let engine: Idempotency<unknown>;
  const effect = (answer?: Answer): Handler<unknown> => effectOn(opened, answer);

  beforeAll(() => {
    opened = driver.open(fixture.url);
    engine = createIdempotency({ db: opened.db, retention: "24h" });
  });

  afterAll(() => opened.end());

  describe("one key", () => {
    it.each(kinds)("(%s) runs once, and is replayed byte for byte", async (_, mint) => {
      const key = mint();
      const first = await engine.run(request(key), effect());
      const again = await engine.run(request(key), effect());
      expect(first).toMatchObject({ kind: "executed", status: 201 });
      expect(header(first, "idempotency-status")).toBe("executed");
      expect(header(first, "idempotency-replayed")).toBeUndefined();
      expect(again).toMatchObject({ kind: "replayed", status: 201 });
      expect(header(again, "idempotency-status")).toBe("replayed");
      expect(header(again, "idempotency-replayed")).toBe("true");
      expect(header(again, "content-type")).toBe("application/json");
      expect(text(again)).toBe(text(first));
      expect(await fixture.effects(key)).toBe(1);
    });

    it.each(kinds)("(%s) twenty times in parallel leaves one effect", async (_, mint) => {
      const key = mint();
      const outcomes = await Promise.all(Array.from({ length: 20 }, () => engine.run(request(key), effect())));
      expect(outcomes.filter(({ kind }) => kind === "executed")).toHaveLength(1);
      for (const { kind } of outcomes) expect(["executed", "replayed", "in_progress"]).toContain(kind);
      expect(await fixture.effects(key)).toBe(1);
      expect(await fixture.records(sortableKey(key))).toBe(1);
    });

    // F93
    it("sixteen times at once, completed before, is never called busy", async () => {
      const key = v7();
      await engine.run(request(key), effect());
      for (let round = 0; round < 10; round += 1) {
        const outcomes = await Promise.all(Array.from({ length: 16 }, () => engine.run(request(key), effect())));
        expect(outcomes.map(({ kind }) => kind)).toEqual(Array(16).fill("replayed"));
      }
      expect(await fixture.effects(key)).toBe(1);
    });

    // F34
    it("delivered twice, 5 ms apart, gives one effect, a busy twin, and a replay to whoever comes back", async () => {
      const key = v7();
      const [began, goOn] = [gate(), gate()];
      const slow = engine.run(request(key), async (execution) => {
        began.open();
        await goOn.passed;
        return effect()(execution);
      });
      await Promise.all([began.passed, new Promise((resolve) => setTimeout(resolve, 5))]);
      const twin = await engine.run(request(key), effect());
      expect(twin).toMatchObject({ kind: "in_progress", status: 409 });
      expect(errorOf(twin)).toBe("in_progress");
      expect(header(twin, "retry-after")).toBe("1");
      expect(header(twin, "content-type")).toBe("application/problem+json");
      expect(header(twin, "idempotency-status")).toBeUndefined();
      goOn.open();
      expect((await slow).kind).toBe("executed");
      expect((await engine.run(request(key), effect())).kind).toBe("replayed");
      expect(await fixture.effects(key)).toBe(1);
    });

    it("is the same quoted and bare", async () => {
      const key = v7();
      await engine.run(request(`"${key}"`), effect());
      expect((await engine.run(request(key), effect())).kind).toBe("replayed");
    });

    it("with another request is refused", async () => {
      const key = v7();
      await engine.run(request(key, "1"), effect());
      const other = await engine.run(request(key, "2"), effect());
      expect(other).toMatchObject({ kind: "mismatched", status: 422 });
      expect(errorOf(other)).toBe("idempotency_key_reused_with_different_body");
      expect(header(other, "idempotency-status")).toBeUndefined();
      expect(await fixture.effects(key)).toBe(1);
    });

    // F101
    it("is another key for another tenant and in another scope", async () => {
      const key = v7();
      const requests = [request(key), { ...request(key), tenant: "acct_2" }, { ...request(key), scope: "other" }];
      for (const one of requests) expect((await engine.run(one, effect())).kind).toBe("executed");
      expect(await fixture.effects(key)).toBe(3);
    });

    it("works with a pool of one", async () => {
      const one = driver.open(fixture.url, 1);
      const engine = createIdempotency({ db: one.db, retention: "24h" });
      const key = v7();
      const outcomes = await Promise.all(Array.from({ length: 5 }, () => engine.run(request(key), effect())));
      expect(outcomes.map(({ kind }) => kind)).toEqual(["executed", ...Array(4).fill("replayed")]);
      await one.end();
    });
  });

  it("makes a schema of its own, twice, and works with it", async () => {
    const own = createIdempotency({ db: opened.db, retention: "24h", schema: `on "${driver.name}"` });
    await own.migrate();
    await own.migrate();
    const key = v7();
    expect((await own.run(request(key), effect())).kind).toBe("executed");
    expect((await own.run(request(key), effect())).kind).toBe("replayed");
    expect((await own.retentionStatus()).kept).toBeGreaterThanOrEqual(86_400);
  });

  describe("without a usable key", () => {
    it.each([
      ["none", undefined, "idempotency_key_missing"],
      ["a bad one", "a b", "idempotency_key_invalid"],
      ["two lines", ["a", "b"], "idempotency_key_invalid"],
    ])("(%s) nothing runs", async (_, key, error) => {
      const outcome = await engine.run(request(key), () => expect.unreachable());
      expect(outcome).toMatchObject({ kind: "invalid", status: 400 });
      expect(errorOf(outcome)).toBe(error);
      expect(header(outcome, "idempotency-status")).toBeUndefined();
    });
  });

  describe("a key's time", () => {
    const hour = 3_600_000;

    it.each([
      ["past the window", -27 * hour, 410, "idempotency_key_expired"],
      ["years ago", -9000 * 24 * hour, 410, "idempotency_key_expired"],
      ["beyond the horizon", 30 * 24 * hour, 400, "idempotency_key_time"],
    ])("%s is refused, unmarked", async (_, offset, status, error) => {
      const outcome = await engine.run(request(v7({ msecs: Date.now() + offset })), () => expect.unreachable());
      expect(outcome.status).toBe(status);
      expect(errorOf(outcome)).toBe(error);
      expect(header(outcome, "idempotency-status")).toBeUndefined();
    });

    it.each([
      ["a day ago", -24 * hour],
      ["in a day, from a clock that runs fast", 24 * hour],
    ])("%s is taken", async (_, offset) => {
      const key = v7({ msecs: Date.now() + offset });
      expect((await engine.run(request(key), effect())).kind).toBe("executed");
      expect((await engine.run(request(key), effect())).kind).toBe("replayed");
    });

    it("of an opaque key is when it was stored", async () => {
      const key = `opaque-${v7()}`;
      await engine.run(request(key), effect());
      await fixture.pool.query("UPDATE samekey.keys SET created_at = created_at - interval '27 hours' WHERE key = $1", [
        `o${key}`,
      ]);
      expect((await engine.run(request(key), effect())).status).toBe(410);
      expect(await fixture.effects(key)).toBe(1);
    });
  });

  // F100
  describe("a handler's outcome", () => {
    it.each([400, 402, 404, 409, 422])("%i is refused: stored, its effects undone", async (status) => {
      const key = v7();
      const answer: Answer = { status, headers: { "content-type": "application/json" }, body: '{"error":"no"}' };
      const first = await engine.run(request(key), effect(answer));
      expect(first).toMatchObject({ kind: "executed", status });
      expect(await fixture.effects(key)).toBe(0);
      const again = await engine.run(request(key), () => expect.unreachable());
      expect(again).toMatchObject({ kind: "replayed", status });
      expect(text(again)).toBe('{"error":"no"}');
    });

    it.each([401, 408, 423, 425, 429, 500, 503])(
      "%i is released: nothing is stored, the key runs again",
      async (status) => {
        const key = v7();
        const first = await engine.run(request(key), effect({ status, body: "later" }));
        expect(first).toMatchObject({ kind: "released", status });
        expect(header(first, "idempotency-status")).toBeUndefined();
        expect(await fixture.effects(key)).toBe(0);
        expect((await engine.run(request(key), effect())).kind).toBe("executed");
        expect(await fixture.effects(key)).toBe(1);
      },
    );

    it("that is thrown is released and thrown on", async () => {
      const key = v7();
      const failing = engine.run(request(key), async (execution) => {
        await effect()(execution);
        throw new Error("bug");
      });
      await expect(failing).rejects.toThrow("bug");
      expect(await fixture.effects(key)).toBe(0);
      expect((await engine.run(request(key), effect())).kind).toBe("executed");
    });

    it("may be said outright", async () => {
      const released = v7();
      expect((await engine.run(request(released), effect({ status: 400, disposition: "released" }))).kind).toBe(
        "released",
      );
      expect(await fixture.records(sortableKey(released))).toBe(0);
      const completed = v7();
      await engine.run(request(completed), effect({ status: 400, disposition: "completed" }));
      expect(await fixture.effects(completed)).toBe(1);
    });

    it("refused with a failed statement behind it is stored all the same", async () => {
      const key = v7();
      const outcome = await engine.run(request(key), async ({ tx }) => {
        await opened.query(tx, "SELECT 1 / 0").catch(() => {});
        return { status: 402 };
      });
      expect(outcome).toMatchObject({ kind: "executed", status: 402 });
      expect((await engine.run(request(key), effect())).kind).toBe("replayed");
    });

    it("completed with a failed statement behind it is not believed", async () => {
      const key = v7();
      const swallowing = engine.run(request(key), async ({ tx }) => {
        await opened.query(tx, "SELECT 1 / 0").catch(() => {});
        return created;
      });
      const error = await swallowing.catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(MisuseError);
      expect(sqlState(error)).toBe("25P02");
      expect((await engine.run(request(key), effect())).kind).toBe("executed");
    });
  });

  describe("what is stored", () => {
    it.each<[string, Answer["body"]]>([
      ["no body", null],
      ["an empty body", ""],
      ["text", "grün ✓\n\0"],
      ["bytes", new Uint8Array(Array.from({ length: 512 }, (_, index) => index % 256))],
      ["a large body", "x".repeat(300_000)],
    ])("gives back %s", async (_, body) => {
      const key = v7();
      await engine.run(request(key), effect({ status: body === null ? 204 : 200, body }));
      const { body: replayed } = await engine.run(request(key), effect());
      expect(Buffer.from(replayed ?? []).equals(Buffer.from(body ?? ""))).toBe(true);
    });

    it("keeps the listed headers, every line of them, and no others", async () => {
      const engine = createIdempotency({ db: opened.db, retention: "24h", headers: ["X-Trace"] });
      const key = v7();
      const headers: HeaderPair[] = [
        ["Link", "</a>; rel=next"],
        ["link", "</b>; rel=prev"],
        ["Location", '/transfers/"1"'],
        ["x-trace", "t1"],
        ["x-other", "o"],
        ["Set-Cookie", "secret=1"],
        ["date", "today"],
        ["idempotency-status", "forged"],
      ];
      const first = await engine.run(request(key), effect({ status: 201, headers }));
      expect(header(first, "set-cookie")).toBe("secret=1");
      const { headers: replayed } = await engine.run(request(key), effect());
      expect(replayed).toEqual([
        ["link", "</a>; rel=next"],
        ["link", "</b>; rel=prev"],
        ["location", '/transfers/"1"'],
        ["x-trace", "t1"],
        ["idempotency-status", "replayed"],
        ["idempotency-replayed", "true"],
      ]);
    });
  });
});
