import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { send } from "../../../support/raw-http.js";
import { ask, type DraftCase, expectError, result } from "./server.js";

const fresh = () => `"${randomUUID()}"`;
const inside = (field: string) => field.slice(1, -1);

/** §2.2 to §2.6: what becomes of the first request, and of those that come after it. */
export const scenarios: readonly DraftCase[] = [
  {
    name: "§2.6 carries out the first request, and no request twice",
    async check(server) {
      const [one, other] = [fresh(), fresh()];
      for (const field of [one, other, one, other]) expect((await ask(server, field)).status).toBeLessThan(300);
      expect([await server.done(inside(one)), await server.done(inside(other))]).toEqual([1, 1]);
    },
  },
  {
    name: "§2.6 answers a retry with the result of the first request, a success",
    async check(server) {
      const key = fresh();
      const first = await ask(server, key);
      for (let retry = 0; retry < 3; retry += 1) expect(result(await ask(server, key))).toEqual(result(first));
    },
  },
  {
    name: "§2.6 answers a retry with the result of the first request, an error",
    async check(server) {
      const key = fresh();
      const first = await ask(server, key, { body: server.refused });
      expect(first.status).toBeGreaterThanOrEqual(400);
      expect(first.status).toBeLessThan(500);
      expect(result(await ask(server, key, { body: server.refused }))).toEqual(result(first));
    },
  },
  {
    name: "§2.6 answers a request that comes during the first one with a conflict, and its retry with the result",
    async check(server) {
      const key = fresh();
      const first = await server.during(
        inside(key),
        () => ask(server, key),
        async () => {
          const conflict = await ask(server, key);
          expectError(conflict, 409, "A request is outstanding for this Idempotency-Key");
          expect(Number(conflict.headers["retry-after"]?.[0])).toBeGreaterThanOrEqual(1);
        },
      );
      expect(first.status).toBeLessThan(300);
      expect(result(await ask(server, key))).toEqual(result(first));
      expect(await server.done(inside(key))).toBe(1);
    },
  },
  {
    name: "§2.6 answers twenty at once with one result, or a conflict",
    async check(server) {
      const key = fresh();
      const answers = await Promise.all(Array.from({ length: 20 }, () => ask(server, key)));
      const results = answers.filter(({ status }) => status !== 409).map(result);
      expect(results.length).toBeGreaterThan(0);
      for (const one of results) expect(one).toEqual(results[0]);
      expect(await server.done(inside(key))).toBe(1);
    },
  },
  {
    name: "§2.2 refuses a key for another payload, however often, and still knows the first one",
    async check(server) {
      const key = fresh();
      const first = await ask(server, key);
      for (const body of [server.body(2), server.body(3), ` ${server.body(1)}`, server.body(2)]) {
        expectError(await ask(server, key, { body }), 422, "Idempotency-Key is already used");
      }
      expect(result(await ask(server, key))).toEqual(result(first));
      expect(await server.done(inside(key))).toBe(1);
    },
  },
  {
    name: "§2.7 refuses a request without a key, and names what is missing",
    async check(server) {
      const before = (await send(server.reading, { method: "GET" })).body.toString();
      expectError(await ask(server, undefined), 400, "Idempotency-Key is missing");
      expect((await send(server.reading, { method: "GET" })).body.toString()).toBe(before);
    },
  },
  {
    name: "§1 keeps to GET, HEAD and OPTIONS as they are, with a key or without",
    async check(server) {
      const key = fresh();
      const read = async () =>
        (await send(server.reading, { method: "GET", headers: { "Idempotency-Key": key } })).body;
      const before = (await read()).toString();
      await send(server.reading, { method: "HEAD", headers: { "Idempotency-Key": key } });
      const options = await send(server.operation, { method: "OPTIONS", headers: { "Idempotency-Key": key } });
      expect(options.status).not.toBe(409);
      expect((await ask(server, key)).status).toBeLessThan(300);
      expect(await server.done(inside(key))).toBe(1);
      expect((await read()).toString()).not.toBe(before);
    },
  },
  {
    name: "§2.3 publishes its expiration policy, and the format of its keys",
    async check(server) {
      const answer = await send(server.policy, { method: "GET" });
      expect(answer.status).toBe(200);
      const policy = JSON.parse(answer.body.toString());
      expect(policy.header).toBe("Idempotency-Key");
      expect(policy.retention).toBeGreaterThan(0);
      expect((await ask(server, `"${"k".repeat(policy.key.maxLength)}"`)).status).toBeLessThan(300);
      expect((await ask(server, `"${"k".repeat(policy.key.maxLength + 1)}"`)).status).toBe(policy.statuses.invalid);
    },
  },
  {
    name: "§2.3 says of an expired key that it is, and does nothing",
    async check(server) {
      // Of version 7, minted on 1 January 2024.
      const old = "018cc251-f400-7abc-8def-0123456789ab";
      expectError(await ask(server, `"${old}"`), 410, "Idempotency-Key has expired");
      expect(await server.done(old)).toBe(0);
    },
  },
  {
    name: "§5 takes what stands in a key for nothing but a key",
    async check(server) {
      for (const text of ["';DROP/**/TABLE/**/keys;--", "$1", "../../etc/passwd", "%00", "__proto__", "{{7*7}}"]) {
        const key = `${text}${randomUUID()}`;
        expect((await ask(server, `"${key}"`)).status, text).toBeLessThan(300);
        expect(await server.done(key), text).toBe(1);
      }
    },
  },
];
