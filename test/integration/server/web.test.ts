import { type Context, Hono } from "hono";
import { v7 } from "uuid";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createIdempotency, idempotentFetch, type WebHandler } from "../../../src/server/index.js";
import { type Fixture, startFixture } from "./fixture.js";

let fixture: Fixture;

beforeAll(async () => {
  fixture = await startFixture();
}, 60_000);

afterAll(() => fixture.stop());

const wrap = (handler: WebHandler<import("pg").PoolClient>) => {
  const tenant = (request: Request) => request.headers.get("x-account");
  return idempotentFetch(createIdempotency({ db: fixture.pool, retention: "24h", tenant }), { scope: "web" }, handler);
};

const post = (key: string, body = '{"n":1}', url = "https://api.test/effects?a=1") =>
  new Request(url, {
    method: "POST",
    body,
    headers: { "content-type": "application/json", "idempotency-key": key, "x-account": "acct_1" },
  });

describe("a Web handler", () => {
  it("runs once, with its body, and is replayed", async () => {
    const fetchOnce = wrap(async (request, { tx, key }) => {
      await tx.query("INSERT INTO effects (key) VALUES ($1)", [key]);
      const headers = { location: "/effects/1", "set-cookie": "secret=1" };
      return Response.json({ got: await request.json() }, { status: 201, headers });
    });
    const key = v7();
    const first = await fetchOnce(post(key));
    const again = await fetchOnce(post(key));
    expect([first.status, first.headers.get("idempotency-status")]).toEqual([201, "executed"]);
    expect([again.status, again.headers.get("idempotency-status")]).toEqual([201, "replayed"]);
    expect(again.headers.get("location")).toBe("/effects/1");
    expect([first.headers.get("set-cookie"), again.headers.get("set-cookie")]).toEqual(["secret=1", null]);
    expect([await first.text(), await again.text()]).toEqual(['{"got":{"n":1}}', '{"got":{"n":1}}']);
    expect((await fetchOnce(post(key, '{"n":2}'))).status).toBe(422);
    expect((await fetchOnce(post(key, undefined, "https://api.test/effects?a=2"))).status).toBe(422);
    expect(await fixture.effects(key)).toBe(1);
  });

  it("may answer without a body", async () => {
    const fetchOnce = wrap(() => new Response(null, { status: 204 }));
    const key = v7();
    expect((await fetchOnce(post(key))).status).toBe(204);
    expect((await fetchOnce(post(key))).headers.get("idempotency-replayed")).toBe("true");
  });

  it("is not reached without an account", async () => {
    const request = post(v7());
    request.headers.delete("x-account");
    expect((await wrap(() => expect.unreachable())(request)).status).toBe(401);
  });

  it("gets what its framework passes along, and so does its own `tenant`", async () => {
    const idempotency = createIdempotency({ db: fixture.pool, retention: "24h" });
    const app = new Hono<{ Variables: { account: string } }>();
    app.use(async (context, next) => {
      context.set("account", context.req.header("x-account") ?? "");
      await next();
    });
    const once = idempotentFetch(
      idempotency,
      { scope: "hono", tenant: (_request: Request, context: Context) => context.get("account") },
      async (request, { tenant }, context: Context) =>
        Response.json({ tenant, id: context.req.param("id"), got: await request.json() }),
    );
    app.post("/effects/:id", (context) => once(context.req.raw, context));
    const request = () => post(v7(), undefined, "https://api.test/effects/7");
    expect(await (await app.request(request())).json()).toEqual({ tenant: "acct_1", id: "7", got: { n: 1 } });
    const nobody = request();
    nobody.headers.delete("x-account");
    expect((await app.request(nobody)).status).toBe(401);
  });

  it("runs again, with its body, where its transaction lost against another one", async () => {
    let lost = 0;
    const fetchOnce = wrap(async (request, { tx, key }) => {
      await tx.query("INSERT INTO effects (key) VALUES ($1)", [key]);
      lost += 1;
      if (lost < 3) await tx.query("DO $$ BEGIN RAISE EXCEPTION 'lost' USING ERRCODE = 'deadlock_detected'; END $$");
      return new Response(await request.text());
    });
    const key = v7();
    const answer = await fetchOnce(post(key));
    expect([answer.status, await answer.text(), lost]).toEqual([200, '{"n":1}', 3]);
    expect(await fixture.effects(key)).toBe(1);
  });

  it.each([-1, 1.5, Number.NaN, "1kb"])("has no limit of %j bytes", (bodyLimit) => {
    const idempotency = createIdempotency({ db: fixture.pool, retention: "24h" });
    const make = () =>
      idempotentFetch(idempotency, { scope: "web", bodyLimit: bodyLimit as number }, () => new Response());
    expect(make).toThrow(/`bodyLimit` must be a whole number of bytes/);
  });

  // F20
  it("must come before whatever reads the body", async () => {
    const request = post(v7());
    await request.text();
    const message = expect.stringContaining("request.clone()");
    await expect(wrap(() => expect.unreachable())(request)).rejects.toMatchObject({ code: "bad_option", message });
  });
});
