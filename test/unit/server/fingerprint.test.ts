import { describe, expect, it } from "vitest";
import { fingerprint, type RequestParts } from "../../../src/server/fingerprint.js";

const base: RequestParts = { method: "POST", target: "/a?b=1", contentType: "application/json", body: '{"n":1}' };
const hex = (parts: Partial<RequestParts> = {}) => Buffer.from(fingerprint({ ...base, ...parts })).toString("hex");

describe("the fingerprint", () => {
  it("is the same for the same request, as text or bytes", () => {
    expect(hex({ body: new TextEncoder().encode('{"n":1}') })).toBe(hex());
    expect(hex({ method: "post" })).toBe(hex());
  });

  // F21
  it.each<[string, Partial<RequestParts>]>([
    ["method", { method: "PUT" }],
    ["path", { target: "/c?b=1" }],
    ["query", { target: "/a?b=2" }],
    ["no query", { target: "/a" }],
    ["content type", { contentType: "text/plain" }],
    ["no content type", { contentType: undefined }],
    ["body", { body: '{"n":2}' }],
    ["no body", { body: null }],
    ["white space in the body", { body: '{"n": 1}' }],
    ["part of the path moved to the query", { target: "/?a?b=1" }],
  ])("changes with the %s", (_, parts) => {
    expect(hex(parts)).not.toBe(hex());
  });

  // F19
  it.each([
    ["9007199254740993", "9007199254740992"],
    ["0", "-0"],
    ['{"a":1,"a":2}', '{"a":2}'],
    ['{"2":0,"1":0}', '{"1":0,"2":0}'],
  ])("tells %s from %s", (one, other) => {
    expect(hex({ body: one })).not.toBe(hex({ body: other }));
  });

  it("tells bytes apart that decode to the same text", () => {
    expect(hex({ body: new Uint8Array([0xff]) })).not.toBe(hex({ body: new Uint8Array([0xfe]) }));
  });
});
