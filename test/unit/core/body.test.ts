import { Readable } from "node:stream";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { freezeBody, memberPath } from "../../../src/core/body.js";

const max = 1_000_000;
const text = (body: ArrayBuffer | undefined): string => new TextDecoder().decode(body);
const json = (input: unknown): string => text(freezeBody(input, max).body);

function refusal(input: unknown, most = max): Error & { code?: string } {
  try {
    freezeBody(input, most);
  } catch (error) {
    return error as Error & { code?: string };
  }
  throw new Error("it was accepted");
}

describe("F14 a body is frozen to bytes once", () => {
  it.each([
    ["nothing", undefined, undefined, undefined, "raw"],
    ["text", "a=1 ü", "a=1 ü", "text/plain;charset=UTF-8", "raw"],
    ["empty text", "", "", "text/plain;charset=UTF-8", "raw"],
    ["text that looks like JSON", '{"a":1}', '{"a":1}', "text/plain;charset=UTF-8", "raw"],
    ["a Buffer", Buffer.from("bytes"), "bytes", undefined, "raw"],
    ["an ArrayBuffer", new TextEncoder().encode("bytes").buffer, "bytes", undefined, "raw"],
    ["a form", new URLSearchParams({ a: "1 2" }), "a=1+2", "application/x-www-form-urlencoded;charset=UTF-8", "raw"],
    ["an object", { a: 1 }, '{"a":1}', "application/json", "json"],
    ["null", null, "null", "application/json", "json"],
    ["true", true, "true", "application/json", "json"],
    ["a number", 7, "7", "application/json", "json"],
    ["an empty list", [], "[]", "application/json", "json"],
  ])("%s", (_, input, body, contentType, compare) => {
    const frozen = freezeBody(input, max);
    expect(frozen.body && text(frozen.body)).toBe(body);
    expect(frozen.contentType).toBe(contentType);
    expect(frozen.compare).toBe(compare);
  });

  it("writes what JSON.stringify writes", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        if (typeof value !== "string") expect(json(value)).toBe(JSON.stringify(value));
      }),
    );
  });

  it.each([
    ["members that are undefined are absent", { a: undefined, b: 1 }, '{"b":1}'],
    [
      "symbol keys and inherited members are not data",
      Object.create({ c: 1 }, { b: { value: 1, enumerable: true } }),
      '{"b":1}',
    ],
    ["-0 is 0, as everywhere in JSON", { a: -0 }, '{"a":0}'],
    ["integer-like keys come first, as in every object", { b: 1, 2: 1, 1: 1 }, '{"1":1,"2":1,"b":1}'],
    ["a member named __proto__ is kept", JSON.parse('{"__proto__":{"a":1}}'), '{"__proto__":{"a":1}}'],
    [
      "members named like a stream's methods are data",
      { next: "p2", pipe: 1, getReader: null },
      '{"next":"p2","pipe":1,"getReader":null}',
    ],
    ["an object without a prototype", Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
    [
      "an instance of a class",
      new (class Money {
        amount = 5;
        #secret = 1;
      })(),
      '{"amount":5}',
    ],
    [
      "an object of another realm",
      runInNewContext("({ a: [1, new Date(0)] })"),
      '{"a":[1,"1970-01-01T00:00:00.000Z"]}',
    ],
    ["half a surrogate pair is escaped", { a: "\ud800" }, '{"a":"\\ud800"}'],
    ["the same object in two places", ((o) => [o, o])({ a: 1 }), '[{"a":1},{"a":1}]'],
    ["a Date", { when: new Date(0) }, '{"when":"1970-01-01T00:00:00.000Z"}'],
    ["a URL", { to: new URL("https://example.com/") }, '{"to":"https://example.com/"}'],
    ["what toJSON answers", { a: { toJSON: () => ({ b: 1 }) } }, '{"a":{"b":1}}'],
    ["a member whose toJSON answers undefined", { a: { toJSON: () => undefined } }, "{}"],
  ])("%s", (_, input, expected) => {
    expect(json(input)).toBe(expected);
  });

  it("toJSON is called once, with the member's name, and not again on what it answers", () => {
    const names: unknown[] = [];
    const value = { toJSON: (name: unknown) => ({ x: names.push(name) && 1, toJSON: undefined }) };
    expect(json({ a: value, list: [0, value] })).toBe('{"a":{"x":1},"list":[0,{"x":1}]}');
    expect(json(value)).toBe('{"x":1}');
    expect(names).toEqual(["a", "1", ""]);
    class Self {
      a = 1;
      toJSON(): this {
        return this;
      }
    }
    expect(json([new Self()])).toBe('[{"a":1}]');
  });

  it("a getter is read once, so that what was checked is what is sent", () => {
    let reads = 0;
    const body = {
      get amount() {
        return ++reads === 1 ? 5 : Number.NaN;
      },
    };
    expect(json(body)).toBe('{"amount":5}');
    expect(reads).toBe(1);
  });

  it("later mutation changes nothing", () => {
    const bytes = Uint8Array.from([1, 2, 3]);
    const value = { amount: 1 };
    const frozen = [bytes, bytes.buffer, value].map((input) => freezeBody(input, max));
    bytes.fill(9);
    value.amount = 2;
    expect(frozen.map(({ body }) => [...new Uint8Array(body as ArrayBuffer)])).toEqual([
      [1, 2, 3],
      [1, 2, 3],
      [...Buffer.from('{"amount":1}')],
    ]);
  });

  it.each([
    ["a Uint8Array", (buffer: ArrayBufferLike) => new Uint8Array(buffer, 2, 4)],
    ["a Uint16Array", (buffer: ArrayBufferLike) => new Uint16Array(buffer, 2, 2)],
    ["a DataView", (buffer: ArrayBufferLike) => new DataView(buffer, 2, 4)],
  ])("%s counts with its offset and length only, on shared memory too", (_, view) => {
    for (const buffer of [new ArrayBuffer(8), new SharedArrayBuffer(8)]) {
      new Uint8Array(buffer).set([0, 1, 2, 3, 4, 5, 6, 7]);
      const { body } = freezeBody(view(buffer), max);
      expect(body).toBeInstanceOf(ArrayBuffer);
      expect([...new Uint8Array(body as ArrayBuffer)]).toEqual([2, 3, 4, 5]);
    }
  });

  it("shared memory is copied", () => {
    const shared = new SharedArrayBuffer(2);
    const { body } = freezeBody(shared, max);
    new Uint8Array(shared).fill(1);
    expect(body).toBeInstanceOf(ArrayBuffer);
    expect([...new Uint8Array(body as ArrayBuffer)]).toEqual([0, 0]);
  });

  it("bytes of another realm are bytes", () => {
    expect(text(freezeBody(runInNewContext("new Uint8Array([104, 105]).buffer"), max).body)).toBe("hi");
  });
});

class Stream {
  getReader(): void {}
}

describe("F17 F19 a body that cannot be recorded and sent again is refused, with its path", () => {
  const cycle: Record<string, unknown> = { items: [{}] };
  (cycle["items"] as unknown[])[1] = { back: cycle };
  const endless = { toJSON: () => ({ again: endless }) };
  const at = (when: unknown) => ({ items: [0, 0, 0, { when }] });
  const where = "`body.items[3].when`";

  it.each([
    ["NaN", at(Number.NaN), `${where} is NaN, which JSON turns into null`],
    ["Infinity", at(Number.NEGATIVE_INFINITY), `${where} is -Infinity, which JSON turns into null`],
    ["a bigint", at(1n), `${where} is a bigint, which JSON cannot hold: pass it as text`],
    ["a function", at(() => 1), `${where} is a function, which JSON cannot hold`],
    ["a symbol", at(Symbol("x")), `${where} is a symbol, which JSON cannot hold`],
    ["a Map", at(new Map()), `${where} is a Map, which JSON cannot hold: pass Object.fromEntries(map)`],
    ["a Set", at(new Set()), `${where} is a Set, which JSON cannot hold: pass an array`],
    ["a RegExp", at(/x/), `${where} is a RegExp, which JSON cannot hold`],
    ["an Error", at(new Error("x")), `${where} is an Error, which JSON cannot hold`],
    ["a boxed number", at(Object(1)), `${where} is a Number, which JSON cannot hold`],
    ["a promise", at(Promise.resolve(1)), `${where} is a Promise, which JSON cannot hold: await it first`],
    ["an invalid Date", at(new Date(Number.NaN)), `${where} is an invalid Date`],
    ["undefined in a list", { items: [1, undefined] }, "`body.items[1]` is undefined, which JSON turns into null"],
    // biome-ignore lint/suspicious/noSparseArray: that is the point
    ["a hole in a list", { items: [1, , 2] }, "`body.items[1]` is undefined, which JSON turns into null"],
    [
      "toJSON answering undefined in a list",
      [{ toJSON: () => undefined }],
      "`body[0]` is undefined, which JSON turns into null",
    ],
    ["toJSON answering undefined", { toJSON: () => undefined }, "`body` has a toJSON() that answers undefined"],
    ["toJSON answering what JSON cannot hold", { a: { toJSON: () => ({ b: 1n }) } }, "`body.a.b` is a bigint"],
    ["an object that holds itself", cycle, "`body.items[1].back` refers back to an object that holds it"],
    ["toJSON answering what holds it", endless, "`body.again` refers back to an object that holds it"],
    ["bytes in JSON", at(new Uint8Array(2)), `${where} holds bytes, which JSON cannot hold: encode them as text`],
    ["a Buffer in JSON", at(Buffer.from("x")), `${where} holds bytes`],
    ["an ArrayBuffer in JSON", at(new ArrayBuffer(2)), `${where} holds bytes`],
    [
      "a Blob in JSON",
      at(new Blob(["x"])),
      `${where} is a Blob, which JSON cannot hold: pass await blob.arrayBuffer()`,
    ],
    ["a Blob", new Blob(["x"]), "`body` is a Blob, which JSON cannot hold: pass await blob.arrayBuffer()"],
    ["a File", new File(["x"], "x"), "`body` is a File, which JSON cannot hold: pass await file.arrayBuffer()"],
    [
      "FormData",
      new FormData(),
      "`body` is a FormData, which JSON cannot hold: pass a plain object or URLSearchParams",
    ],
    ["Headers", new Headers(), "`body` is a Headers, which JSON cannot hold"],
    ["a web stream", new ReadableStream(), "`body` is a stream, which can be read only once: read it first"],
    ["a polyfilled stream", new Stream(), "`body` is a stream"],
    ["a Node stream", Readable.from([]), "`body` is a stream"],
    ["a generator", (function* () {})(), "`body` is a stream"],
    ["an async generator", (async function* () {})(), "`body` is a stream"],
    ["an async iterable", { [Symbol.asyncIterator]: () => ({}) }, "`body` is a stream"],
    ["a stream in JSON", at(new ReadableStream()), `${where} is a stream`],
    ["a function", () => 1, "`body` is a function, which JSON cannot hold"],
    ["a symbol", Symbol("x"), "`body` is a symbol, which JSON cannot hold"],
    ["a bigint", 1n, "`body` is a bigint"],
    ["NaN", Number.NaN, "`body` is NaN"],
    ["half a surrogate pair as text", "a\ud800b", "`body` holds half of a surrogate pair, which UTF-8 cannot carry"],
    ["an odd name", { "odd name": { 'a"b': 1n } }, '`body["odd name"]["a\\"b"]` is a bigint'],
  ])("%s", (_, input, message) => {
    const error = refusal(input);
    expect(error.code).toBe("body_not_replayable");
    expect(error.message).toContain(message);
  });

  it("keeps what a getter, a toJSON or a proxy threw as the cause, and says where", () => {
    const cause = new Error("boom");
    const thrower = (): never => {
      throw cause;
    };
    const bodies = [
      {
        items: [
          {
            get when() {
              return thrower();
            },
          },
        ],
      },
      { items: [{ when: { toJSON: thrower } }] },
      { items: [{ when: new Proxy({}, { ownKeys: thrower }) }] },
    ];
    for (const body of bodies) {
      const error = refusal(body);
      expect(error).toMatchObject({ code: "body_not_replayable", cause });
      expect(error.message).toContain("`body.items[0].when` cannot be read");
    }
  });

  it("nesting has a bound, however it is made", () => {
    let deep: unknown = 1;
    for (let level = 0; level < 1000; level++) deep = [deep];
    expect(json(deep)).toHaveLength(2001);
    expect(refusal([[deep]]).message).toContain("is nested more than 1000 levels deep");
    const growing = (): object => ({ toJSON: () => ({ a: growing() }) });
    expect(refusal(growing()).message).toContain("is nested more than 1000 levels deep");
  });

  it("bytes that were transferred elsewhere are not mistaken for an empty body", () => {
    for (const wrap of [(buffer: ArrayBuffer) => buffer, (buffer: ArrayBuffer) => new Uint8Array(buffer)]) {
      const buffer = new ArrayBuffer(4);
      const body = wrap(buffer);
      structuredClone(buffer, { transfer: [buffer] });
      expect(refusal(body).message).toContain("transferred elsewhere");
    }
  });

  it("the size is bounded in bytes, not in characters", () => {
    expect(freezeBody("üü", 4).body?.byteLength).toBe(4);
    expect(refusal("üü", 3)).toMatchObject({
      code: "body_not_replayable",
      message: expect.stringContaining("it has 4 bytes, more than `maxBody` allows (3)"),
    });
    expect(refusal(new Uint8Array(5), 4).message).toContain("it has 5 bytes");
    expect(refusal({ a: "1234" }, 11).message).toContain("it has 12 bytes");
  });
});

describe("a path", () => {
  it.each([
    ["items", "body.items"],
    ["$_a1", "body.$_a1"],
    [3, "body[3]"],
    ["3", 'body["3"]'],
    ["odd name", 'body["odd name"]'],
    ["", 'body[""]'],
    ["ü", 'body["ü"]'],
  ])("with the member %j is %s", (name, path) => {
    expect(memberPath("body", name)).toBe(path);
  });
});
