import { v4, v7 } from "uuid";
import { expect, vi } from "vitest";
import { gate } from "../fixture.js";
import { bodyLimit, type Case, effect, executed, expectProblem, marks, post, replayed, unmarked } from "./target.js";

/** A v7 key of another time. */
const keyAt = (time: number) => v7({ msecs: time });
const day = 86_400_000;

export const rows: readonly Case[] = [
  {
    name: "answers a new key with the handler's answer, marked as executed",
    async check(target) {
      const answer = await post(target, v7());
      expect([answer.status, marks(answer)]).toEqual([201, executed]);
    },
  },
  {
    name: "answers a key in progress with 409 at once, and its retry with the stored answer",
    async check(target) {
      const [began, goOn, key] = [gate(), gate(), v7()];
      target.on(key, async (execution) => {
        began.open();
        await goOn.passed;
        return effect({ status: 201, body: "done" })(execution, Buffer.alloc(0));
      });
      const first = post(target, key);
      await began.passed;
      expectProblem(await post(target, key), 409, "in_progress", "1");
      // Nobody can know yet that it differs.
      expectProblem(await post(target, key, { body: "{}" }), 409, "in_progress", "1");
      goOn.open();
      expect(marks(await first)).toEqual(executed);
      expect(marks(await post(target, key))).toEqual(replayed);
      expect(await target.effects(key)).toBe(1);
    },
  },
  {
    name: "answers a key that was used for another method, path, query, content type or body with 422",
    async check(target) {
      const key = v7();
      expect((await post(target, key, { path: "/act?a=1&b=2" })).status).toBe(201);
      const others = [
        { path: "/act?a=1&b=2", method: "PUT" },
        { path: "/act" },
        { path: "/act?a=1" },
        { path: "/act?b=2&a=1" },
        { path: "/act?a=1&b=2", headers: { "content-type": "application/vnd.x+json" } },
        { path: "/act?a=1&b=2", headers: { "content-type": "application/json; charset=utf-8" } },
        { path: "/act?a=1&b=2", body: '{"n":1 }' },
        { path: "/act?a=1&b=2", body: '{"n":1}\n' },
        { path: "/act?a=1&b=2", body: "" },
      ];
      for (const other of others) {
        expectProblem(await post(target, key, other), 422, "idempotency_key_reused_with_different_body");
      }
      expect(marks(await post(target, key, { path: "/act?a=1&b=2" }))).toEqual(replayed);
      expect(await target.effects(key)).toBe(1);
    },
  },
  {
    // F19
    name: "tells numbers apart that no parser of JSON does",
    async check(target) {
      const key = v7();
      expect((await post(target, key, { body: "9007199254740993" })).status).toBe(201);
      expect((await post(target, key, { body: "9007199254740992" })).status).toBe(422);
    },
  },
  {
    name: "keeps a path's keys apart from another's, where their scopes differ",
    async check(target) {
      const key = v7();
      expect(marks(await post(target, key))).toEqual(executed);
      expect(marks(await post(target, key, { path: "/other" }))).toEqual(executed);
      expect(await target.effects(key)).toBe(2);
    },
  },
  {
    name: "answers no key with 400, without a word to the database",
    async check(target) {
      const before = target.connections();
      expectProblem(await post(target, undefined), 400, "idempotency_key_missing");
      expect(target.connections()).toBe(before);
    },
  },
  {
    name: "answers a key from too far in the future with 400",
    check: async (target) =>
      expectProblem(await post(target, keyAt(Date.now() + 30 * day)), 400, "idempotency_key_time"),
  },
  {
    name: "answers a v7 key past its window with 410, whether it was used or not",
    check: async (target) =>
      expectProblem(await post(target, keyAt(Date.now() - 2 * day)), 410, "idempotency_key_expired"),
  },
  {
    name: "answers any other key past its window with 410",
    async check(target) {
      const key = v4();
      expect((await post(target, key)).status).toBe(201);
      await target.pool.query("UPDATE samekey.keys SET created_at = created_at - interval '2 days' WHERE key = $1", [
        `o${key}`,
      ]);
      expectProblem(await post(target, key), 410, "idempotency_key_expired");
      expect(await target.effects(key)).toBe(1);
    },
  },
  {
    name: "answers nobody known with 401, without a word to the database",
    async check(target) {
      const before = target.connections();
      const answer = await post(target, v7(), { headers: { authorization: "Bearer wrong" } });
      expectProblem(answer, 401, "unauthenticated");
      expect(target.connections()).toBe(before);
    },
  },
  {
    name: "answers a body over the limit with 413, without a word to the database",
    async check(target) {
      const before = target.connections();
      const large = Buffer.alloc(bodyLimit + 1, 32);
      const key = v7();
      expectProblem(await post(target, key, { body: large }), 413, "body_too_large");
      expect(target.connections()).toBe(before);
      expect((await post(target, key, { body: large.subarray(1) })).status).toBe(201);
    },
  },
  {
    name: "answers 503 where the handler takes too long, and runs again",
    async check(target) {
      const [goOn, key] = [gate(), v7()];
      target.on(key, async (execution) => {
        await execution.tx.query("INSERT INTO effects (key) VALUES ($1)", [key]);
        await goOn.passed;
        return {};
      });
      expectProblem(await post(target, key), 503, "handler_timeout", "1");
      goOn.open();
      expect(await target.effects(key)).toBe(0);
      target.on(key, effect({ status: 201 }));
      await vi.waitFor(async () => expect(marks(await post(target, key))).toEqual(executed));
      expect(await target.effects(key)).toBe(1);
    },
  },
  {
    name: "answers 500 where the database would not store the answer, and keeps nothing of it",
    async check(target) {
      const key = v7();
      target.on(key, async ({ tx }) => {
        await tx.query("SELECT 1 / 0").catch(() => {});
        return { status: 201, headers: [["location", "/never"]] };
      });
      const answer = await post(target, key);
      expect([answer.status, marks(answer), answer.headers["location"]]).toEqual([500, unmarked, undefined]);
      target.on(key, effect({ status: 201 }));
      expect(marks(await post(target, key))).toEqual(executed);
    },
  },
];
