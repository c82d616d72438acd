import { v7 } from "uuid";
import { expect } from "vitest";
import { type Case, effect, executed, expectProblem, json, marks, post, replayed, typed, unmarked } from "./target.js";

export const outcomes: readonly Case[] = [
  {
    name: "stores a refusal and undoes its effects",
    async check(target) {
      for (const status of [400, 402, 403, 404, 409, 410, 412, 422, 451]) {
        const key = v7();
        target.on(key, effect({ status, headers: [typed(json)], body: '{"error":"no"}' }));
        const [first, again] = [await post(target, key), await post(target, key)];
        expect([first.status, marks(first)]).toEqual([status, executed]);
        expect([again.status, marks(again), again.body.toString()]).toEqual([status, replayed, '{"error":"no"}']);
        expect(await target.effects(key)).toBe(0);
      }
    },
  },
  {
    // F100
    name: "stores nothing of an answer that says: not now",
    async check(target) {
      for (const status of [401, 407, 408, 423, 425, 429, 500, 502, 503]) {
        const key = v7();
        target.on(key, effect({ status, headers: [["retry-after", "7"]], body: "later" }));
        const first = await post(target, key);
        expect([first.status, marks(first), first.headers["retry-after"]]).toEqual([status, unmarked, ["7"]]);
        target.on(key, effect({ status: 201 }));
        expect(marks(await post(target, key))).toEqual(executed);
        expect(await target.effects(key)).toBe(1);
      }
    },
  },
  {
    name: "stores nothing of a handler that throws",
    async check(target) {
      const key = v7();
      target.on(key, async (execution) => {
        await effect({})(execution, Buffer.alloc(0));
        throw new Error("bug");
      });
      const first = await post(target, key);
      expect([first.status, marks(first)]).toEqual([500, unmarked]);
      expect(await target.effects(key)).toBe(0);
      target.on(key, effect({ status: 201 }));
      expect(marks(await post(target, key))).toEqual(executed);
    },
  },
  {
    name: "lets no handler mark its answers itself",
    async check(target) {
      const spoofed = [
        ["Idempotency-Status", "replayed"],
        ["Idempotency-Replayed", "true"],
      ] as const;
      for (const [status, expected] of [
        [200, executed],
        [409, executed],
        [503, unmarked],
      ] as const) {
        const key = v7();
        target.on(key, effect({ status, headers: spoofed }));
        expect(marks(await post(target, key))).toEqual(expected);
      }
    },
  },
  {
    name: "gives the first answer whole, and keeps only the listed headers of it",
    async check(target) {
      const key = v7();
      const headers = [
        ["set-cookie", "a=1"],
        ["set-cookie", "b=2"],
        ["x-request-id", "7"],
        ["link", "</a>"],
        ["link", "</b>"],
      ] as const;
      target.on(key, effect({ headers, body: "ok" }));
      const [first, again] = [await post(target, key), await post(target, key)];
      expect(first.headers["set-cookie"]).toEqual(["a=1", "b=2"]);
      expect(first.headers["x-request-id"]).toEqual(["7"]);
      expect([again.headers["set-cookie"], again.headers["x-request-id"]]).toEqual([undefined, undefined]);
      for (const { headers: sent } of [first, again]) expect(sent["link"]?.join(", ")).toBe("</a>, </b>");
    },
  },
  {
    name: "sends nothing before the commit, and nothing else than what was committed",
    async check(target) {
      const key = v7();
      // Its constraint is checked at COMMIT: the handler has long answered by then.
      target.on(key, async ({ tx }) => {
        await tx.query("INSERT INTO late VALUES ('taken')");
        return { status: 201, headers: [["set-cookie", "session=1"]], body: "paid" };
      });
      const answer = await post(target, key);
      expect([answer.status, marks(answer), answer.headers["set-cookie"]]).toEqual([500, unmarked, undefined]);
      expect(answer.body.toString()).not.toContain("paid");
    },
  },
];

export const routes: readonly Case[] = [
  {
    name: "keeps the status of an answer that is too large to be kept, and never runs it again",
    async check(target) {
      const key = v7();
      const large = {
        status: 201,
        headers: [typed(json), ["location", "/act/1"]] as const,
        body: Buffer.alloc(1_100_000, 32),
      };
      target.on(key, effect(large));
      const [first, again] = [await post(target, key), await post(target, key)];
      expect([first.status, marks(first), first.body.length]).toEqual([201, executed, 1_100_000]);
      expect([again.status, marks(again), again.headers["location"]]).toEqual([201, replayed, ["/act/1"]]);
      expect(again.headers["idempotency-body"]).toEqual(["omitted"]);
      expect(await target.effects(key)).toBe(1);
    },
  },
  {
    // F107
    name: "seals what is stored where a route asks for it",
    async check(target) {
      const key = v7();
      target.on(key, effect({ body: "one-time secret" }));
      const [first, again] = [
        await post(target, key, { path: "/sealed" }),
        await post(target, key, { path: "/sealed" }),
      ];
      expect([marks(first), first.body.toString()]).toEqual([executed, "one-time secret"]);
      expect([marks(again), again.body.toString()]).toEqual([replayed, "one-time secret"]);
      const { rows } = await target.pool.query("SELECT body FROM samekey.keys WHERE scope = '/sealed' AND key = $1", [
        `7${key.replaceAll("-", "")}`,
      ]);
      expect(rows.map(({ body }) => body.toString())).not.toContain("one-time secret");
      expect(rows).toHaveLength(1);
    },
  },
  {
    name: "runs a request without a key where a route needs none, unmarked, and refuses a bad one",
    async check(target) {
      const answer = await post(target, undefined, { path: "/optional" });
      expect([answer.status, marks(answer)]).toEqual([201, unmarked]);
      expectProblem(await post(target, "a b", { path: "/optional" }), 400, "idempotency_key_invalid");
      const key = v7();
      expect(marks(await post(target, key, { path: "/optional" }))).toEqual(executed);
      expect(marks(await post(target, key, { path: "/optional" }))).toEqual(replayed);
    },
  },
];
