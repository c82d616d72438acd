import { createHash, randomBytes } from "node:crypto";
import { gunzipSync, gzipSync } from "node:zlib";
import { v7 } from "uuid";
import { expect, vi } from "vitest";
import { exchange, send } from "../../../support/raw-http.js";
import { gate } from "../fixture.js";
import { binary, type Case, effect, executed, json, marks, post, raw, replayed, unmarked } from "./target.js";

export const traffic: readonly Case[] = [
  {
    name: "gives the handler the bytes that were sent",
    async check(target) {
      for (const body of ["", "{}", binary, gzipSync("{}"), randomBytes(300_000)]) {
        const key = v7();
        target.on(key, (_execution, bytes) => ({ body: createHash("sha256").update(bytes).digest("hex") }));
        const answer = await post(target, key, { body });
        expect(answer.body.toString()).toBe(createHash("sha256").update(body).digest("hex"));
      }
    },
  },
  {
    name: "binds a key to the bytes of a compressed body",
    async check(target) {
      const key = v7();
      const zipped = gzipSync('{"n":1}', { level: 1 });
      const otherwise = gzipSync('{"n":1}', { level: 9 });
      expect(gunzipSync(otherwise)).toEqual(gunzipSync(zipped));
      target.on(key, effect({ status: 201 }));
      // Not told to the frameworks, whose parsers would decode it: what counts is what came.
      expect((await post(target, key, { body: zipped })).status).toBe(201);
      expect(marks(await post(target, key, { body: zipped }))).toEqual(replayed);
      expect((await post(target, key, { body: otherwise })).status).toBe(Buffer.compare(zipped, otherwise) ? 422 : 201);
    },
  },
  {
    name: "takes a body in chunks for the same body in one",
    async check(target) {
      const key = v7();
      const chunked = { body: ['{"n"', ":", "1}"] };
      expect(marks(await post(target, key, chunked))).toEqual(executed);
      expect(marks(await post(target, key))).toEqual(replayed);
    },
  },
  {
    name: "twenty at once do the work once",
    async check(target) {
      const key = v7();
      const answers = await Promise.all(Array.from({ length: 20 }, () => post(target, key)));
      const told = answers.map((answer) => `${answer.status} ${marks(answer)[0] ?? "-"}`);
      expect(told.filter((it) => it === "201 executed")).toHaveLength(1);
      for (const it of told) expect(["201 executed", "201 replayed", "409 -"]).toContain(it);
      expect(await target.effects(key)).toBe(1);
    },
  },
  {
    // F34
    name: "twins in one pipeline do the work once",
    async check(target) {
      const key = v7();
      const one = raw([`Idempotency-Key: ${key}`]).toString("latin1");
      const stay = one.replace("Connection: close\r\n", "");
      const answers = await exchange(target.url, stay + one);
      const statuses = [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
      expect(statuses).toHaveLength(2);
      expect(statuses).toContain("201");
      expect(answers.match(/idempotency-status: executed/gi)).toHaveLength(1);
      expect(await target.effects(key)).toBe(1);
    },
  },
  {
    // F101
    name: "keeps tenants apart",
    async check(target) {
      const key = v7();
      const as = (account: string, body: string) => {
        target.on(key, effect({ body: account }));
        return post(target, key, { body, headers: { authorization: `Bearer ${account}` } });
      };
      expect(marks(await as("acct_a", "{}"))).toEqual(executed);
      // Neither the answer nor the fact that there is one can be seen from another account.
      expect(marks(await as("acct_b", "[]"))).toEqual(executed);
      expect((await as("acct_a", "{}")).body.toString()).toBe("acct_a");
      expect((await as("acct_b", "[]")).body.toString()).toBe("acct_b");
    },
  },
  {
    name: "leaves GET and HEAD beside it alone",
    async check(target) {
      const got = await send(`${target.url}/act`, { method: "GET" });
      expect([got.status, got.body.toString(), marks(got)]).toEqual([200, "untouched", unmarked]);
      const head = await send(`${target.url}/act`, { method: "HEAD", headers: { "idempotency-key": "k" } });
      expect(marks(head)).toEqual(unmarked);
    },
  },
  {
    name: "does its work and stores it though the client has gone",
    async check(target) {
      const [began, goOn, key] = [gate(), gate(), v7()];
      target.on(key, async (execution) => {
        began.open();
        await goOn.passed;
        return effect({ status: 201 })(execution, Buffer.alloc(0));
      });
      const controller = new AbortController();
      const init = { method: "POST", body: '{"n":1}', signal: controller.signal };
      const headers = { "idempotency-key": key, authorization: "Bearer acct_1", "content-type": json };
      const gone = expect(fetch(`${target.url}/act`, { ...init, headers })).rejects.toThrow();
      await began.passed;
      controller.abort();
      await gone;
      goOn.open();
      await vi.waitFor(async () => expect(await target.effects(key)).toBe(1));
      expect(marks(await post(target, key))).toEqual(replayed);
    },
  },
  {
    name: "publishes its contract",
    async check(target) {
      const answer = await send(`${target.url}/.well-known/idempotency`, { method: "GET" });
      expect(answer.status).toBe(200);
      expect(answer.headers["content-type"]?.[0]).toMatch(/^application\/json/);
      expect(answer.headers["cache-control"]).toEqual(["public, max-age=300"]);
      expect(JSON.parse(answer.body.toString())).toEqual({
        header: "Idempotency-Key",
        key: { minLength: 1, maxLength: 255, charset: "visible-ascii", quoted: "accepted", recommended: "uuidv7" },
        retention: 86_400,
        statuses: { missing: 400, invalid: 400, time: 400, in_progress: 409, expired: 410, reused: 422 },
        marks: { status: "idempotency-status", replayed: "idempotency-replayed" },
      });
    },
  },
];
