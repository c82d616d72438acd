import { createSdk, del, MisuseError, patch, post, put } from "samekey";
import { createTestSdk } from "samekey/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { resolveOptions } from "../../../src/client/options.js";
import { commonPlatform, createSdk as createAnywhere } from "../../../src/platform/none.js";
import { fate } from "./kit.js";

const good = { name: "x", owner: "single", baseUrl: "https://api.example.com", retention: "1h" };

function errorOf(options: object): MisuseError {
  try {
    createSdk({ ...good, ...options } as never);
  } catch (error) {
    return error as MisuseError;
  }
  throw new Error("it was accepted");
}

describe("every option of createSdk, wrong once: one clear error that names it", () => {
  test.each([
    ["name", "", "name"],
    ["name", "a/b", "name"],
    ["name", undefined, "name"],
    ["baseUrl", "/api", "baseUrl"],
    ["baseUrl", "ftp://x.example.com", "baseUrl"],
    ["baseUrl", "https://user:pass@x.example.com", "headers()"],
    ["operations", "x", "operations"],
    ["operations", { pay: {} }, "operations.pay"],
    ["operations", { pay: "POST /pay" }, "operations.pay"],
    ["operations", { pay: undefined }, "operations.pay"],
    ["operations", { pay: post("/pay/:id") }, "operations.pay"],
    ["operations", { fetch: post("/x") }, "operations.fetch"],
    ["owner", undefined, "owner"],
    ["owner", "ada", "owner"],
    ["discover", "yes", "discover"],
    ["headers", { authorization: "x" }, "headers"],
    ["credentials", "yes", "credentials"],
    ["retention", "a day", "retention"],
    ["retention", 0, "retention"],
    ["retention", -1, "retention"],
    ["retention", Number.NaN, "retention"],
    ["profile", "stripe", "profile"],
    ["profile", { name: "p", headr: "x" }, "headr"],
    ["profile", { name: "p", key: "v1" }, "profile.key"],
    ["profile", { name: "p", header: "a b" }, "profile.header"],
    ["profile", { name: "p", quoted: "no" }, "profile.quoted"],
    ["profile", { name: "p", dedupes: 1 }, "profile.dedupes"],
    ["profile", { name: "p", read: {} }, "profile.read"],
    ["profile", { name: "p", keepHeaders: ["cookie"] }, "keepHeaders"],
    ["retry", 3, "retry"],
    ["retry", { attempts: 0 }, "retry.attempts"],
    ["retry", { retries: 3 }, "retries"],
    ["retry", { base: "x" }, "retry.base"],
    ["retry", { cap: -1 }, "retry.cap"],
    ["retry", { backgroundCap: "x" }, "retry.backgroundCap"],
    ["attemptTimeout", 0, "attemptTimeout"],
    ["wait", "x", "wait"],
    ["keepFor", "forever", "keepFor"],
    ["rememberIntents", -5, "rememberIntents"],
    ["maxBody", 1.5, "maxBody"],
    ["maxResponse", 65_535, "maxResponse"],
    ["maxPending", 0, "maxPending"],
    ["concurrency", 0, "concurrency"],
    ["store", {}, "store"],
    ["store", "sqlite", "store"],
    ["fetch", "x", "fetch"],
    ["clock", Date, "clock"],
    ["random", 4, "random"],
    ["log", console, "log"],
    ["retries", 3, "retries"],
  ])("%s: %j", (option, value, named) => {
    const error = errorOf({ operations: { pay: post("/pay") }, [option]: value });
    expect(error).toBeInstanceOf(MisuseError);
    expect(error.code).toBe("bad_option");
    expect(error.message).toContain(named);
    expect(error.message).toMatchSnapshot();
  });

  test("no options at all", () => {
    for (const nothing of [undefined, null, "x"]) {
      expect(() => createSdk(nothing as never)).toThrow(MisuseError);
    }
  });

  test("retention is missing: the error says why and how", () => {
    const error = errorOf({ retention: undefined, operations: { pay: post("/pay") } });
    expect(error.message).toContain("operations.pay".slice(11));
    expect(error.message).toContain('retention: "24h"');
  });

  test("undefined is as good as absent", () => {
    const names =
      "baseUrl operations headers credentials profile retry attemptTimeout wait keepFor rememberIntents maxBody maxResponse maxPending concurrency store fetch clock random log";
    const absent = Object.fromEntries(names.split(" ").map((name) => [name, undefined]));
    expect(() => createSdk({ ...good, ...absent } as never)).not.toThrow();
  });
});

describe("every option of an operation, wrong once", () => {
  test.each([
    ["body", {}],
    ["result", "x"],
    ["error", z],
    ["intent", "must"],
    ["key", "random"],
    ["keepHeaders", "x-tenant"],
    ["keepHeaders", ["a b"]],
    ["keepHeaders", ["Authorization"]],
    ["onIntentMismatch", "ignore"],
    ["conflict", "retry"],
    ["unprocessable", "ok"],
    ["settled", "x"],
    ["reconcile", {}],
    ["retention", "x"],
    ["attemptTimeout", 0],
    ["headers", {}],
    ["wait", -1],
    ["maxBody", 0],
    ["maxResponse", "16MB"],
    ["retry", { attempts: "3" }],
    ["retrys", {}],
  ])("%s: %o", (option, value) => {
    const error = errorOf({ operations: { pay: post("/pay", { [option]: value } as never) } });
    expect(error.code).toBe("bad_option");
    expect(error.message).toContain("operations.pay");
    expect(error.message).toContain(option);
  });
});

describe("every option of a call, wrong once: rejects save and send, and nothing is recorded", () => {
  const app = createTestSdk({
    operations: { pay: post<{ a?: unknown }>("/pay"), named: post("/named", { intent: "required" }) },
  });

  test.each([
    ["intent", ""],
    ["intent", 7],
    ["id", "a b"],
    ["key", "ключ"],
    ["key", "a\nb"],
    ["key", ""],
    ["key", "x".repeat(256)],
    ["owner", "*"],
    ["owner", ""],
    ["owner", 7],
    ["lane", ""],
    ["headers", { "a b": "x" }],
    ["headers", { "idempotency-key": "x" }],
    ["headers", "x"],
    ["deadline", "soon"],
    ["idempotencyKey", "x"],
  ])("%s: %j", async (option, value) => {
    const handle = app.sdk.operation("pay", {}, { [option]: value } as never);
    for (const call of [handle.save(), handle.send()]) {
      const error = (await fate(call as Promise<unknown>)) as MisuseError;
      expect(error).toMatchObject({ name: "MisuseError", code: "bad_option" });
      if (option !== "id") expect(error.message).toContain(option);
    }
    expect(await app.store.page({}).catch(() => [])).toEqual([]);
  });

  test("the body: the path of what JSON cannot hold", async () => {
    const error = await fate(app.sdk.operation("pay", { a: [{ when: () => 1 }] }).save());
    expect(error).toMatchObject({ code: "body_not_replayable", message: expect.stringContaining("body.a[0].when") });
    const huge = createTestSdk({ operations: { pay: post<string>("/pay", { maxBody: 3 }) } });
    expect(await fate(huge.sdk.operation("pay", "four").save())).toMatchObject({ code: "body_not_replayable" });
  });

  test("a required intent is required at run time too", async () => {
    const error = await fate(app.sdk.operation("named", undefined, {} as never).save());
    expect(error).toMatchObject({ code: "bad_option", message: expect.stringContaining("intent") });
  });

  test("a schema for the body that is asynchronous or does not fit", async () => {
    const bodies = createTestSdk({
      operations: {
        slow: post("/slow", { body: z.string().refine(async () => true) }),
        strict: post("/strict", { body: z.object({ a: z.object({ b: z.string() }) }) }),
      },
    });
    expect(await fate(bodies.sdk.operation("slow", "x").save())).toMatchObject({ code: "bad_option" });
    const error = await fate(bodies.sdk.operation("strict", { a: { b: 1 } } as never).save());
    expect(error).toMatchObject({ code: "bad_option", message: expect.stringContaining("body.a.b: ") });
    expect(error).toMatchObject({ fields: ["body.a.b"], cause: [{ path: ["a", "b"] }] });
  });

  test("what the schema makes of the body is what is sent", async () => {
    const body = z.object({ a: z.number().default(7) });
    const schema = createTestSdk({ operations: { pay: post("/pay", { body }) } });
    await schema.until(schema.sdk.operation("pay", {} as never).send());
    expect(schema.server.calls[0]?.json()).toEqual({ a: 7 });
  });
});

describe("where it goes", () => {
  const urlOf = async (path: string | ((body: { id: string }) => string), baseUrl?: string) => {
    const app = createTestSdk({ operations: { pay: post<{ id: string }>(path) }, baseUrl });
    const record = await fate(app.sdk.operation("pay", { id: "7" }).save());
    return (record as { request?: { url: string } }).request?.url ?? record;
  };

  test("paths are relative to baseUrl, below its own path", async () => {
    expect(await urlOf("/pay")).toBe("https://api.example.com/pay");
    expect(await urlOf("pay", "https://x.example.com/v2/")).toBe("https://x.example.com/v2/pay");
    expect(await urlOf(({ id }) => `/pay/${id}/refunds?a=1`)).toBe("https://api.example.com/pay/7/refunds?a=1");
    expect(await urlOf("//evil.example.org/x")).toBe("https://api.example.com//evil.example.org/x");
  });

  test("absolute ones stand for themselves, without credentials in them", async () => {
    expect(await urlOf("https://other.example.org/pay")).toBe("https://other.example.org/pay");
    expect(await urlOf("https://u:p@other.example.org/pay")).toMatchObject({ code: "bad_option" });
    expect(await urlOf("https://:::")).toMatchObject({ code: "bad_option" });
    expect(await urlOf(() => 7 as never)).toMatchObject({ code: "bad_option" });
  });

  test("methods", async () => {
    const app = createTestSdk({ operations: { a: post("/a"), b: put("/b"), c: patch("/c"), d: del("/d") } });
    for (const name of ["a", "b", "c", "d"] as const) await app.until(app.sdk.operation(name).send());
    expect(app.server.calls.map(({ method }) => method)).toEqual(["POST", "PUT", "PATCH", "DELETE"]);
  });
});

test("elsewhere a store must be passed: said at its first use", async () => {
  const sdk = createAnywhere({
    name: "x",
    owner: "single",
    retention: "1h",
    operations: { pay: post("https://a.example.com/") },
  });
  expect(await fate(sdk.operation("pay").save())).toMatchObject({
    code: "bad_option",
    message: expect.stringContaining("memoryStore()"),
  });
  expect(await fate(createAnywhere({ name: "x", owner: "single" }).fetch("/t", { method: "POST" }))).toBeDefined();
});

test("a relative path without a baseUrl is said so", async () => {
  const sdk = createAnywhere({ name: "x", owner: "single", retention: "1h", operations: { pay: post("/pay") } });
  expect(await fate(sdk.operation("pay").save())).toMatchObject({
    code: "bad_option",
    message: expect.stringContaining("baseUrl"),
  });
});

test("options are resolved once: what is changed afterwards changes nothing", () => {
  const operations = { pay: post("/pay") };
  const given = { name: "x", owner: "single" as const, retention: "1h" as const, operations };
  const resolved = resolveOptions(given, commonPlatform);
  (given as { name: string }).name = "y";
  (given as { operations: object }).operations = {};
  expect(resolved.name).toBe("x");
  expect(resolved.operations.get("pay")?.retention).toBe(3_600_000);
  expect(Object.isFrozen(resolved)).toBe(true);
});
