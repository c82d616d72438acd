import { describe, expect, it } from "vitest";
import { parseKey, sortableKey } from "../../../src/server/key.js";

describe("the Idempotency-Key header", () => {
  it.each([
    ["bare", "abc", "abc"],
    ["quoted", '"abc"', "abc"],
    ["with escapes inside quotes", '"a\\"b\\\\c"', 'a"b\\c'],
    ["every visible character", "!#$%&'()*+,-./:;<=>?@[]^_`{|}~", "!#$%&'()*+,-./:;<=>?@[]^_`{|}~"],
    ["255 characters", "k".repeat(255), "k".repeat(255)],
    ["255 characters in quotes", `"${"k".repeat(255)}"`, "k".repeat(255)],
    ["one line in a list", ["abc"], "abc"],
    ["with a parameter behind its quotes", '"abc";a', "abc"],
    [
      "with parameters of every kind behind its quotes",
      `"abc";a;*b-c.d_e*=tok/en:*;f=-1.5;g=42;h="\\"; ,";i=?1;j=:YWJj:;k=@1659578233;  l=%"f%c3%bc"`,
      "abc",
    ],
  ])("is read %s", (_, header, key) => {
    expect(parseKey(header)).toEqual({ key });
  });

  it.each([
    ["empty", ""],
    ["blank", "   "],
    ["empty in quotes", '""'],
    ["256 characters", "k".repeat(256)],
    ["a space inside", "a b"],
    ["a space inside quotes", '"a b"'],
    ["a control character", "a\tb"],
    ["not ASCII", "schlüssel"],
    ["a NUL", "a\0b"],
    ["an unclosed quote", '"abc'],
    ["a quote inside quotes", '"a"b"'],
    ["something behind its quotes", '"abc"d'],
    ["an escape that is none", '"a\\bc"'],
    ["a blank before a parameter", '"abc" ;a=1'],
    ["a parameter without a name", '"abc";'],
    ["a parameter without a value", '"abc";a='],
    ["a parameter in capitals", '"abc";A=1'],
    ["a parameter with a value that is none", '"abc";a=(1)'],
    ["a second value behind a parameter", '"abc";a=1, "abc"'],
    ["surrounded by blanks", " abc "],
    ["two lines joined", "abc, def"],
    ["two lines joined, the second one empty", "abc, "],
    ["two lines joined and trimmed, the second one empty", "abc,"],
    ["two lines joined and trimmed, the first one empty", ",abc"],
    ["two quoted lines joined", '"abc", "abc"'],
    ["two lines", ["abc", "abc"]],
  ])("is refused when %s", (_, header) => {
    expect(parseKey(header)).toEqual({ error: "idempotency_key_invalid" });
  });

  it("is missed", () => {
    for (const header of [undefined, null, []]) expect(parseKey(header)).toEqual({ error: "idempotency_key_missing" });
  });
});

describe("the stored form", () => {
  it("of a v7 key sorts by its time", () => {
    expect(sortableKey("018f0000-0000-7abc-8def-0123456789ab")).toBe("7018f000000007abc8def0123456789ab");
  });

  it.each([
    ["v4", "0b9f5f0e-3f0e-4c57-9d5b-2f1d3b6f9f10"],
    ["v7 in capitals", "018F0000-0000-7ABC-8DEF-0123456789AB"],
    ["v7 without hyphens", "018f000000007abc8def0123456789ab"],
    ["v7 of another variant", "018f0000-0000-7abc-0def-0123456789ab"],
    ["one that looks stored", "7018f000000007abc8def0123456789ab"],
  ])("of any other key (%s) is the key itself", (_, key) => {
    expect(sortableKey(key)).toBe(`o${key}`);
  });
});
