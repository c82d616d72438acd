import { describe, expect, it } from "vitest";
import { dispositionOf } from "../../../src/server/answer.js";
import { createIdempotency, type Database } from "../../../src/server/index.js";

const db: Database = { connect: () => Promise.reject(new Error("not used")) };

describe("createIdempotency", () => {
  it.each<[string, object]>([
    ["db", { db: {} }],
    ["retention", { retention: "soon" }],
    ["retention", { retention: 0 }],
    ["retention", { retention: "367d" }],
    ["schema", { schema: "" }],
    ["schema", { schema: "x".repeat(64) }],
    ["handlerTimeout", { handlerTimeout: "25d" }],
    ["maxStoredBody", { maxStoredBody: -1 }],
    ["maxStoredBody", { maxStoredBody: "1mb" }],
    ["maxStoredBody", { maxStoredBody: 2 ** 30 }],
    ["db", { db: undefined }],
    ["db", { db: { transaction: () => {} } }],
    ["observe", { observe: "console.log" }],
    ["set-cookie", { headers: ["Set-Cookie"] }],
  ])("refuses a wrong %s: %o", (name, wrong) => {
    expect(() => createIdempotency({ db, retention: "24h", ...wrong })).toThrow(
      expect.objectContaining({ code: "bad_option", message: expect.stringContaining(name) }),
    );
  });

  it.each([{ tenant: "" }, { scope: "" }])("refuses to run with an empty %o", async (empty) => {
    const request = { tenant: "t", scope: "s", key: "k", fingerprint: new Uint8Array(32), ...empty };
    const run = createIdempotency({ db, retention: "24h" }).run(request, () => ({ status: 201 }));
    await expect(run).rejects.toMatchObject({ code: "bad_option" });
  });

  it.each<[string, object]>([
    ["required", { required: "no" }],
    ["rerun", { rerun: 0 }],
    ["fallback", { fallback: {} }],
    ["seal.seal", { seal: { open: () => {} } }],
    ["seal.open", { seal: { seal: () => {} } }],
    ["seal.seal", { seal: null }],
  ])("refuses to run with a wrong %s: %o", async (name, wrong) => {
    const request = { tenant: "t", scope: "s", key: "k", fingerprint: new Uint8Array(32) };
    const run = createIdempotency({ db, retention: "24h" }).run(request, () => ({ status: 201 }), wrong);
    await expect(run).rejects.toMatchObject({ code: "bad_option", message: expect.stringContaining(name) });
  });

  it("answers 503 where the database cannot be reached", async () => {
    const request = { tenant: "t", scope: "s", key: "k", fingerprint: new Uint8Array(32) };
    const outcome = await createIdempotency({ db, retention: "24h" }).run(request, () => ({ status: 201 }));
    expect(outcome).toMatchObject({ kind: "unavailable", status: 503 });
    expect(outcome.headers).toContainEqual(["retry-after", "1"]);
  });
});

// F100
describe("a status", () => {
  it.each([
    [200, "completed"],
    [204, "completed"],
    [303, "completed"],
    [400, "refused"],
    [402, "refused"],
    [404, "refused"],
    [409, "refused"],
    [422, "refused"],
    [401, "released"],
    [407, "released"],
    [408, "released"],
    [423, "released"],
    [425, "released"],
    [429, "released"],
    [500, "released"],
    [503, "released"],
  ])("%i means %s", (status, disposition) => {
    expect(dispositionOf(status)).toBe(disposition);
  });
});
