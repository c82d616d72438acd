import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { confirm } from "../../../../src/cli/doctor/consent.js";
import { target } from "./kit.js";

const decode = (bytes: Uint8Array | undefined) => bytes && new TextDecoder().decode(bytes);

describe("another body", () => {
  it.each([
    ["an object with one more member", '{"a":1}', '{"a":1,"samekey-doctor":"another body"}', true],
    ["other bytes, where it is no object", "[1]", "[1] ", false],
    ["other bytes, where it is no JSON", "a=1", "a=1 ", false],
    ["none for an empty one", "", undefined, false],
  ])("is %s", (_, body, other, meansOther) => {
    const made = target({ body });
    expect({ other: decode(made.otherBody), meansOther: made.meansOther }).toEqual({ other, meansOther });
  });

  it("is the caller's, which has to be another", () => {
    expect(decode(target({ otherBody: "[2]" }).otherBody)).toBe("[2]");
    expect(() => target({ otherBody: '{"amount":1}' })).toThrow("--other-body");
  });
});

describe("headers", () => {
  it.each([
    ["JSON for JSON", '{"a":1}', [], "application/json"],
    ["text for anything else", "a=1", [], "text/plain"],
    ["the caller's", "a=1", ["Content-Type: application/x-www-form-urlencoded"], "application/x-www-form-urlencoded"],
  ])("name %s as the content type", (_, body, header, type) => {
    expect(target({ body, header }).headers).toEqual({ "content-type": type });
  });

  it.each(["secret", "x y: secret", "host: secret", "a: se\u0000cret", "content-length: 7", "idempotency-key: secret"])(
    "refuse %j and do not repeat its value",
    (line) => {
      const attempt = () => target({ header: [line] });
      expect(attempt).toThrow("--header");
      expect(attempt).not.toThrow("cret");
    },
  );

  it("refuse a name that comes twice", () => {
    expect(() => target({ header: ["a: 1", "A: 2"] })).toThrow("twice");
  });
});

describe("leave to write", () => {
  async function ask(answer: string): Promise<{ given: boolean; shown: string }> {
    const input = new PassThrough();
    const output = new PassThrough();
    const given = confirm("Send it?", input, output);
    input.end(answer);
    const was = await given;
    output.end();
    return { given: was, shown: await text(output) };
  }

  it.each(["y\n", "yes\n", " Y \n"])("is given by %j", async (answer) => {
    expect(await ask(answer)).toMatchObject({ given: true, shown: expect.stringContaining("Send it? [y/N]") });
  });

  it.each(["n\n", "\n", "", "yeah\n", "no\ny\n"])("is not given by %j", async (answer) => {
    expect((await ask(answer)).given).toBe(false);
  });
});
