import { describe, expect, it } from "vitest";
import { checkKey, deriveKey, mintUuid, renderKey, withKey } from "../../../src/core/key.js";
import { stored } from "./machine.js";

const now = Date.UTC(2026, 5, 1);
const random = (size: number) => new Uint8Array(size).fill(0xab);

const lowerCaseUuid = /^[0-9a-f]{8}-[0-9a-f]{4}-([47])[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe("F13 a minted key", () => {
  it.each([
    ["v7", now, "7"],
    ["v4", now, "4"],
    ["v7", 0, "4"],
    ["v7", Date.UTC(2024, 11, 31, 23, 59, 59), "4"],
    ["v7", Date.UTC(2025, 0, 1), "7"],
    ["v7", Date.UTC(2099, 11, 31), "7"],
    ["v7", Date.UTC(2100, 0, 1), "4"],
    ["v7", Number.NaN, "4"],
  ] as const)("asked for as %s at %d is a lower-case UUIDv%s", (version, at, expected) => {
    expect(lowerCaseUuid.exec(mintUuid(version, at, random))?.[1]).toBe(expected);
  });

  it("as v7 begins with the time that it was given", () => {
    expect(Number.parseInt(mintUuid("v7", now, random).replaceAll("-", "").slice(0, 12), 16)).toBe(now);
  });

  it("is made of the random bytes that it was given, and of nothing else", () => {
    for (const version of ["v4", "v7"] as const) {
      expect(mintUuid(version, now, random)).toBe(mintUuid(version, now, random));
      expect(mintUuid(version, now, random)).not.toBe(mintUuid(version, now, (size) => new Uint8Array(size)));
    }
  });

  it("asks for sixteen random bytes, and a source that fails is not papered over", () => {
    const asked: number[] = [];
    const source = (size: number): Uint8Array => {
      asked.push(size);
      return random(size);
    };
    mintUuid("v4", now, source);
    mintUuid("v7", now, source);
    expect(asked).toEqual([16, 16]);
    const broken = (): Uint8Array => {
      throw new Error("no randomness");
    };
    expect(() => mintUuid("v4", now, broken)).toThrow("no randomness");
    expect(() => mintUuid("v7", now, () => new Uint8Array(3))).toThrow();
  });
});

describe("F2 F7 a key derived from an intent", () => {
  it("is the same on every device, and a lower-case UUIDv5", () => {
    expect(deriveKey("ada", "transfer", "order-1")).toBe("262f8b40-f2ca-5631-836a-9a8ddb579b63");
  });

  it("keeps owner, operation and intent apart, whatever characters they hold", () => {
    const parts = [
      ["a", "b", "c"],
      ["a,b", "", "c"],
      ["a", 'b","c', ""],
      ["", "a", "b,c"],
      ["a", "b", "\ud800"],
      ["A", "b", "c"],
    ] as const;
    expect(new Set(parts.map(([owner, name, intent]) => deriveKey(owner, name, intent))).size).toBe(parts.length);
  });
});

describe("F13 a caller's own key", () => {
  it.each(["a", "k".repeat(255), "~!@#$%^&*()_+{}|:\"<>?`-=[]\\;',./", "0"])("%j is kept as it is", (key) => {
    expect(checkKey(key)).toBe(key);
  });

  it.each([
    ["empty", "", '""'],
    ["256 characters", "k".repeat(256), "…"],
    ["padded", "  pad  ", '"  pad  "'],
    ["a space inside", "a b", '"a b"'],
    ["a trailing newline", "abc\n", '"abc\\n"'],
    ["a header injected", "a\r\nx: y", '"a\\r\\nx: y"'],
    ["a tab", "a\tb", '"a\\tb"'],
    ["NUL", "a\u0000b", '"a\\u0000b"'],
    ["DEL", "a\u007f", "visible ASCII"],
    ["Cyrillic", "ключ", '"ключ"'],
    ["Latin-1", "clé", '"clé"'],
    ["an emoji", "🔑", '"🔑"'],
    ["no string", 42, "number"],
    ["undefined", undefined, "undefined"],
    ["an object that reads as a good one", { toString: () => "abc" }, "object"],
  ])("%s is refused before anything is recorded", (_, key, shown) => {
    expect(() => checkKey(key)).toThrow(
      expect.objectContaining({ code: "bad_option", message: expect.stringContaining(shown) }),
    );
  });
});

describe("a key on the wire", () => {
  it.each([
    ["abc", false, "abc"],
    ["abc", true, '"abc"'],
    ['a"b\\c', true, '"a\\"b\\\\c"'],
    ['a"b', false, 'a"b'],
  ])("%j, quoted: %j, travels as %s", (key, quoted, value) => {
    expect(renderKey(key, quoted)).toBe(value);
  });

  it("F4 is rendered anew for another key, into a wire of its own", () => {
    const { wire } = stored({}, { quoted: true, value: '"old"' });
    expect(withKey(wire, "new")).toEqual({ ...wire, value: '"new"' });
    expect(wire.value).toBe('"old"');
  });
});
