import { Readable } from "node:stream";
import { createTestSdk, lose, status } from "samekey/testing";
import { describe, expect, test } from "vitest";
import { fate } from "./kit.js";

const bytes = (text: string) => new TextEncoder().encode(text);

function form(): FormData {
  const made = new FormData();
  made.append("amount", "5");
  made.append("file", new File(["--x\r\n------"], "räceipt.txt", { type: "text/plain" }));
  return made;
}

async function* chunks(...parts: (string | Uint8Array)[]): AsyncGenerator<string | Uint8Array> {
  yield* parts;
}

function streamOf(...parts: string[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    pull(controller) {
      const part = parts.shift();
      if (part === undefined) controller.close();
      else controller.enqueue(bytes(part));
    },
  });
}

/** Sends a body through two failures and a crash, and answers with what arrived each time. */
async function sendOverLives(init: { body: unknown; headers?: Record<string, string> } | Request) {
  const app = createTestSdk();
  app.server.script(status(503), lose.response({ times: 3 }));
  const sending = init instanceof Request ? app.sdk.fetch(init) : app.sdk.fetch("/t", { method: "POST", ...init });
  sending.catch(() => {});
  await app.advance("5s");
  const sdk = app.crash();
  await app.until(sdk.resume({ wait: "10m" }));
  expect(await sdk.counts()).toEqual({ succeeded: 1 });
  const seen = app.server.calls.map((call) => ({ text: call.text(), type: call.headers.get("content-type") }));
  expect(seen.length).toBeGreaterThan(3);
  expect(new Set(app.server.calls.map(({ key }) => key)).size).toBe(1);
  expect(new Set(seen.map((one) => JSON.stringify(one))).size, "every attempt is the same").toBe(1);
  return seen[0];
}

describe("F16 F17 every kind of body is frozen once, and is the same over attempts and a crash", () => {
  test.each([
    ["a Blob", new Blob(["hi"], { type: "image/png" }), "image/png", "hi"],
    ["a Blob without a type", new Blob(["hi"]), null, "hi"],
    ["a File", new File(["hi"], "a.csv", { type: "text/csv" }), "text/csv", "hi"],
    ["an ArrayBuffer", bytes("hi").buffer, null, "hi"],
    ["a DataView", new DataView(bytes("xhi").buffer, 1), null, "hi"],
    ["a Buffer within a pool", Buffer.from("hi"), null, "hi"],
    ["a stream", streamOf("h", "", "i"), null, "hi"],
    ["an async iterable", chunks("h", bytes("i")), null, "hi"],
    ["an empty Blob", new Blob([]), null, ""],
  ])("%s", async (_, body, type, text) => {
    expect(await sendOverLives({ body })).toEqual({ text, type });
  });

  test("a form: parts, names and types as the platform writes them, one boundary for ever", async () => {
    const seen = await sendOverLives({ body: form() });
    const [, boundary] = /^multipart\/form-data; boundary=(----samekey[0-9a-f]+)$/.exec(seen?.type ?? "") ?? [];
    expect(boundary).toBeDefined();
    const parsed = await new Response(seen?.text, { headers: { "content-type": seen?.type ?? "" } }).formData();
    const file = parsed.get("file") as File;
    expect([parsed.get("amount"), file.name, file.type, await file.text()]).toEqual([
      "5",
      "räceipt.txt",
      "text/plain",
      "--x\r\n------",
    ]);
    expect(await sendOverLives({ body: form() }), "the same form, another time").toEqual(seen);
    const other = form();
    other.append("more", "1");
    expect((await sendOverLives({ body: other }))?.type).not.toBe(seen?.type);
  });

  test("a Request with a form or a stream in it", async () => {
    const url = "https://api.example.com/t";
    const direct = await sendOverLives({ body: form() });
    expect(await sendOverLives(new Request(url, { method: "POST", body: form() }))).toEqual(direct);
    const body = streamOf("a", "b");
    const seen = await sendOverLives(new Request(url, { method: "POST", body, duplex: "half" } as RequestInit));
    expect(seen).toEqual({ text: "ab", type: null });
  });

  test("a Request of a package's making, whose body is a Node stream and whose headers are its own", async () => {
    class PackageHeaders extends Map<string, string> {}
    const request = {
      [Symbol.toStringTag]: "Request",
      url: "https://api.example.com/t",
      method: "POST",
      headers: new PackageHeaders([["content-type", "text/x"]]),
      body: Readable.from([Buffer.from("a="), Buffer.from("1")]),
      bodyUsed: false,
      signal: null,
    };
    const app = createTestSdk();
    app.server.script(status(503), lose.response());
    await app.until(app.sdk.fetch(request as unknown as Request));
    const seen = app.server.calls.map((call) => [call.text(), call.headers.get("content-type")]);
    expect(seen).toEqual(Array.from({ length: 3 }, () => ["a=1", "text/x"]));
    expect(app.server.effects).toHaveLength(1);
  });

  test("the caller's own content type goes before the body's", async () => {
    const headers = { "content-type": "application/x-mine" };
    expect(await sendOverLives({ body: new Blob(["a"], { type: "text/csv" }), headers })).toEqual({
      text: "a",
      type: "application/x-mine",
    });
  });
});

describe("input and init merge as fetch merges them", () => {
  const url = "https://api.example.com/t";
  const make = () =>
    new Request(url, { method: "POST", body: "a=1", headers: { "x-a": "1", "content-type": "text/x" } });

  test.each([
    ["nothing", undefined],
    ["other headers", { headers: { "x-b": "2" } }],
    ["another body", { body: new URLSearchParams("b=2") }],
    ["another body and headers", { body: new Blob(["b"], { type: "text/y" }), headers: [["x-b", "2"]] }],
    ["another method", { method: "PUT" }],
  ] as [string, RequestInit | undefined][])("%s", async (_, init) => {
    const app = createTestSdk();
    const platform = new Request(make(), init);
    await app.until(app.sdk.fetch(make(), init));
    const [call] = app.server.calls;
    const seen = Object.fromEntries(call?.headers ?? []);
    delete seen["idempotency-key"];
    delete seen["accept"];
    expect([call?.method, call?.text(), seen]).toEqual([
      platform.method,
      await platform.text(),
      Object.fromEntries(platform.headers),
    ]);
  });
});

describe("what the caller does after the call changes nothing", () => {
  test.each([
    ["a value", () => ({ a: 1 }), (body: { a: number }) => Object.assign(body, { a: 2 }), '{"a":1}'],
    ["bytes", () => bytes("a"), (body: Uint8Array) => body.fill(0), "a"],
    ["parameters", () => new URLSearchParams("a=1"), (body: URLSearchParams) => body.set("a", "2"), "a=1"],
  ] as [string, () => unknown, (body: never) => unknown, string][])("%s", async (_, make, change, text) => {
    const app = createTestSdk();
    const body = make();
    const sending = app.sdk.fetch("/t", { method: "POST", body });
    change(body as never);
    await app.until(sending);
    expect(app.server.calls[0]?.text()).toBe(text);
  });

  test("a form", async () => {
    const app = createTestSdk();
    const body = form();
    const sending = app.sdk.fetch("/t", { method: "POST", body });
    body.set("amount", "6");
    await app.until(sending);
    expect(app.server.calls[0]?.text()).toContain('name="amount"\r\n\r\n5\r\n');
  });

  test.each([
    ["bytes", new Uint8Array(1)],
    ["Node's Buffer", Buffer.alloc(1)],
    ["a view", new Int8Array(1)],
  ])("a stream that uses one buffer again and again: %s", async (_, buffer) => {
    const app = createTestSdk();
    async function* reusing() {
      for (const letter of "abc") {
        buffer[0] = letter.charCodeAt(0);
        yield buffer as Uint8Array;
      }
    }
    await app.until(app.sdk.fetch("/t", { method: "POST", body: reusing() }));
    expect(app.server.calls[0]?.text()).toBe("abc");
  });
});

describe("what cannot be frozen is refused at the call, before anything is recorded", () => {
  async function refusal(body: unknown) {
    const app = createTestSdk({ maxBody: 4 });
    const error = await app.until(fate(app.sdk.fetch("/t", { method: "POST", body })));
    expect(app.server.calls).toHaveLength(0);
    expect(await app.sdk.counts()).toEqual({});
    return error;
  }

  test.each([
    ["a stream beyond `maxBody`", () => streamOf("abc", "de"), "maxBody"],
    ["a Blob beyond `maxBody`", () => new Blob(["abcde"]), "maxBody"],
    ["a form beyond `maxBody`", form, "maxBody"],
    ["a stream of something else", () => chunks(5 as never), "no bytes"],
    [
      "a locked stream",
      () => {
        const stream = streamOf("a");
        stream.getReader();
        return stream;
      },
      "read by someone else",
    ],
    [
      "a stream that fails",
      () => new ReadableStream({ start: (controller) => controller.error(new Error("disk")) }),
      "failed before its end",
    ],
    [
      "a FormData that is not the platform's",
      () => ({ [Symbol.toStringTag]: "FormData" }),
      "no FormData of the platform",
    ],
  ])("%s", async (_, make, told) => {
    expect(await refusal(make())).toMatchObject({
      code: "body_not_replayable",
      message: expect.stringContaining(told),
    });
  });

  test("an endless stream is given up at the cap, and told so", async () => {
    let stopped = false;
    const endless = new ReadableStream({
      pull: (controller) => controller.enqueue(new Uint8Array(3)),
      cancel: () => {
        stopped = true;
      },
    });
    expect(await refusal(endless)).toMatchObject({ code: "body_not_replayable" });
    expect(stopped).toBe(true);
  });

  test("the signal ends the reading of a stream that brings nothing", async () => {
    const app = createTestSdk();
    const controller = new AbortController();
    const body = new ReadableStream();
    const sending = fate(app.sdk.fetch("/t", { method: "POST", body, signal: controller.signal }));
    controller.abort("gone");
    expect(await sending).toBe("gone");
    expect(body.locked).toBe(true);
    expect(await app.sdk.counts()).toEqual({});
  });

  test("a signal that is aborted already leaves the body alone", async () => {
    const app = createTestSdk();
    const request = new Request("https://api.example.com/t", { method: "POST", body: "a" });
    expect(await fate(app.sdk.fetch(request, { signal: AbortSignal.abort("gone") }))).toBe("gone");
    expect(request.bodyUsed).toBe(false);
  });
});
