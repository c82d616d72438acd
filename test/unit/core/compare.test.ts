import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { freezeBody } from "../../../src/core/body.js";
import {
  type Comparable,
  canonicalJson,
  comparableBytes,
  differingFields,
  sameRequest,
} from "../../../src/core/compare.js";
import { bytes } from "../../support/records.js";

function request(body: unknown, change: Partial<Comparable> = {}): Comparable {
  return { method: "POST", url: "https://api.example.com/transfers", ...freezeBody(body, 1e6), ...change };
}

const wire = (text: string): Comparable => request(undefined, { body: bytes(text), compare: "json" });
const equalBytes = (a: Comparable, b: Comparable): boolean =>
  Buffer.from(comparableBytes(a)).equals(Buffer.from(comparableBytes(b)));

/** The comparison of requests, and of what stands for them once their bodies are dropped. */
function same(a: Comparable, b: Comparable): boolean {
  const result = sameRequest(a, b);
  expect(sameRequest(b, a)).toBe(result);
  expect(equalBytes(a, b)).toBe(result);
  expect(differingFields(a, b).length === 0).toBe(result);
  return result;
}

describe("F7 F19 requests are the same", () => {
  it.each([
    ["with the members in another order", wire('{"a":1,"b":{"c":2,"d":3}}'), wire('{"b":{"d":3,"c":2},"a":1}')],
    ["with integer-like keys in another order", wire('{"10":1,"9":2,"a":3}'), wire('{"a":3,"9":2,"10":1}')],
    ["with blanks between", wire('{"a":[1,2]}'), wire(' { "a" : [ 1 , 2 ] } ')],
    ["with numbers written differently", wire("[1,100,0.1]"), wire("[1.0,1e2,1E-1]")],
    ["with -0 for 0", wire("[0]"), wire("[-0]")],
    ["with characters escaped", wire('{"é":"/"}'), wire('{"\\u00e9":"\\/"}')],
    ["without a body", request(undefined), request(undefined)],
    ["with no bytes for no body", request(undefined), request(new Uint8Array())],
    ["with raw bytes that are equal", request("a=1"), request("a=1")],
    ["with text for its bytes", request("a=1"), request(Buffer.from("a=1"))],
  ])("%s", (_, a, b) => {
    expect(same(a, b)).toBe(true);
  });
});

describe("F7 F12 F19 requests differ", () => {
  it.each<[string, Comparable, Comparable, string[]]>([
    ["in the method", request(1), request(1, { method: "PUT" }), ["method"]],
    ["in the path", request(1), request(1, { url: "https://api.example.com/refunds" }), ["url"]],
    ["in the query", request(1), request(1, { url: "https://api.example.com/transfers?a=1" }), ["url"]],
    ["in one amount", request({ amount: 1 }), request({ amount: 2 }), ["body.amount"]],
    ["in a number and its text", request({ a: 1 }), request({ a: "1" }), ["body.a"]],
    ["in null and absence", request({ a: null }), request({}), ["body.a"]],
    ["in null and an object", request({ a: null }), request({ a: {} }), ["body.a"]],
    ["in a list and an object", request({ a: [1] }), request({ a: { 0: 1 } }), ["body.a"]],
    ["in the order of a list", request([1, 2]), request([2, 1]), ["body[0]", "body[1]"]],
    ["in the length of a list", request({ a: [1] }), request({ a: [1, 2] }), ["body.a[1]"]],
    ["in unsafe integers sent as text", request("9007199254740993"), request("9007199254740992"), ["body"]],
    ["in Unicode that only looks the same", request({ a: "é" }), request({ a: "e\u0301" }), ["body.a"]],
    ["in halves of surrogate pairs", request({ a: "\ud800" }), request({ a: "\ud801" }), ["body.a"]],
    ["in the key's spelling", request({ a: 1 }), request({ A: 1 }), ["body.a", "body.A"]],
    [
      "deep down",
      request({ items: [{}, { when: { at: 1 } }] }),
      request({ items: [{}, { when: { at: 2 } }] }),
      ["body.items[1].when.at"],
    ],
    ["in a member named __proto__", wire('{"__proto__":{"a":1}}'), wire("{}"), ["body.__proto__"]],
    ["in a member named __proto__ that is empty", wire('{"__proto__":{}}'), wire("{}"), ["body.__proto__"]],
    ["in a member named toString", wire('{"toString":1}'), wire("{}"), ["body.toString"]],
    ["in a value and no body", request(1), request(undefined), ["body"]],
    ["in a value and raw bytes that read the same", request({ a: 1 }), request('{"a":1}'), ["body"]],
    ["in raw bytes that mean the same", request('{"a":1}'), request('{ "a":1}'), ["body"]],
    [
      "in everything",
      request({ a: 1 }),
      request({ a: 2 }, { method: "PUT", url: "https://x.example/" }),
      ["method", "url", "body.a"],
    ],
  ])("%s", (_, a, b, fields) => {
    expect(same(a, b)).toBe(false);
    expect(differingFields(a, b)).toEqual(fields);
  });

  it("names at most 20 fields", () => {
    const many = (value: number) => Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`f${index}`, value]));
    const fields = differingFields(request(many(1)), request(many(2), { method: "PUT" }));
    expect(fields).toHaveLength(20);
    expect(fields.slice(0, 2)).toEqual(["method", "body.f0"]);
  });
});

describe("canonical JSON", () => {
  const shuffled = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(shuffled);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value)
        .reverse()
        .map(([name, member]) => [name, shuffled(member)]),
    );
  };

  it("is equal exactly when the values are", () => {
    // Objects of JSON hold no __proto__ that fromEntries would not keep.
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
        expect(canonicalJson(shuffled(a))).toBe(canonicalJson(a));
        expect(JSON.parse(canonicalJson(a))).toEqual(JSON.parse(JSON.stringify(a)));
        expect(same(request([a]), request([shuffled(a)]))).toBe(true);
        expect(same(request([a]), request([b]))).toBe(canonicalJson(a) === canonicalJson(b));
      }),
    );
  });

  it("orders members by code unit, not by locale", () => {
    expect(canonicalJson({ ä: 1, b: 1, B: 1, "10": 1, "9": 1, "": 1 })).toBe('{"":1,"10":1,"9":1,"B":1,"b":1,"ä":1}');
  });
});
