/** What holds of every SDK of an API that knows no keys: what may have been sent is not sent again, by nobody. */

import type { ServerResponse } from "node:http";
import type { WrappedFetch } from "samekey";
import { expect, test, vi } from "vitest";
import { startHttpServer } from "../client/http-server.js";
import type { Contract, Handle } from "./api.js";
import { type Ground, ground } from "./promise.js";

/** Each write is another one to the API. */
const withoutKeys = (): Partial<Contract> => {
  let writes = 0;
  return { keyOf: ({ method }) => (method === "POST" ? `write ${++writes}` : undefined) };
};

export interface Keyless {
  readonly handle: Handle;
  /** Makes a call that names nothing, with the SDK's own retries. Resolves to the answer's id. */
  readonly ask: (fetch: WrappedFetch, url: string) => Promise<string>;
  /** As `ask`, with no retries of the SDK's. */
  readonly askOnce: (fetch: WrappedFetch, url: string) => Promise<string>;
  /** A call whose answer is a stream of events: the data of the first one, and the way to read on until the end. */
  readonly stream: (fetch: WrappedFetch, url: string) => Promise<AsyncIterable<unknown>>;
  /** The events as the API writes them. */
  readonly events: readonly string[];
  /** A call that uploads the file. */
  readonly upload: (fetch: WrappedFetch, url: string, file: File) => Promise<string>;
  /** The error of a lost connection, and those of statuses. */
  readonly errors: { readonly connection: new (...given: never) => Error } & Readonly<
    Record<number, new (...given: never) => Error>
  >;
}

export function sendsOnce(name: string, expected: Keyless): Ground {
  const at = ground(name, expected.handle, withoutKeys());
  const fate = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error);

  test("nothing goes wrong: one request, and the SDK reads its answer", async () => {
    expect(await expected.ask(at.open(), at.api.url)).toBe("a-1");
    expect(at.api.arrivals).toHaveLength(1);
    expect(at.api.arrivals[0]?.headers).not.toHaveProperty("idempotency-key");
  });

  test("a response that is lost: its own retries, as it makes them by default, send nothing", async () => {
    at.api.script("lose");
    const fetch = at.open();
    const error = await fate(expected.ask(fetch, at.api.url));
    expect(error).toBeInstanceOf(expected.errors.connection);
    expect(error).toMatchObject({ cause: { name: "UnknownOutcomeError" } });
    expect(at.api.arrivals).toHaveLength(1);
    expect(await fetch.sdk.counts()).toEqual({ unresolved: 1 });
  });

  test("a 500 may have been carried out: the same", async () => {
    at.api.script(Response.json({ error: {} }, { status: 500 }));
    expect(await fate(expected.ask(at.open(), at.api.url))).toMatchObject({
      cause: { name: "UnknownOutcomeError", status: 500 },
    });
    expect(at.api.arrivals).toHaveLength(1);
  });

  test("calls that are alike are calls of their own: side by side, and after one that was lost", async () => {
    const fetch = at.open();
    const ask = () => expected.ask(fetch, at.api.url);
    expect(await Promise.all([ask(), ask()])).toEqual(["a-1", "a-1"]);
    at.api.script("lose");
    await fate(ask());
    expect(await ask()).toBe("a-1");
    expect(at.api.arrivals).toHaveLength(4);
  });

  test("a limit is waited for here: the SDK sees the answer alone", async () => {
    at.api.script(Response.json({ error: {} }, { status: 429, headers: { "retry-after": "0" } }));
    expect(await expected.askOnce(at.open(), at.api.url)).toBe("a-1");
    expect(at.api.arrivals).toHaveLength(2);
  });

  test.each([400, 403, 404, 409, 422])("a %i is the error that its users know", async (status) => {
    at.api.script(Response.json({ type: "error", error: { type: "t", message: "no" } }, { status }));
    const error = await fate(expected.askOnce(at.open(), at.api.url));
    expect(error).toBeInstanceOf(expected.errors[status]);
    expect(error).toMatchObject({ status, error: expect.anything() });
    expect(at.api.arrivals).toHaveLength(1);
  });

  test.each(["call", "resume"] as const)(
    "the process is killed after the send, and nothing is sent by: %s",
    async (how) => {
      at.api.script("hold");
      const first = at.start("call");
      await vi.waitFor(() => expect(at.api.effects).toHaveLength(1), { timeout: 60_000, interval: 20 });
      await first.crash();
      const second = at.start(how);
      const { value } = await second.told(({ what }) => what === "result");
      expect(value).toMatchObject(how === "call" ? { failed: "UnknownOutcomeError" } : { unresolved: 1 });
      await second.ended();
      expect(at.api.arrivals).toHaveLength(1);
    },
  );

  test("a stream of events is read as it is written, and is not recorded", async () => {
    let answer: ServerResponse | undefined;
    const server = await startHttpServer((_, response) => {
      answer = response.writeHead(200, { "content-type": "text/event-stream" });
      response.flushHeaders();
    });
    const fetch = at.open({ baseUrl: server.url });
    const events = (await expected.stream(fetch, server.url))[Symbol.asyncIterator]();
    for (const event of expected.events) {
      answer?.write(event);
      expect((await events.next()).done).toBe(false);
    }
    answer?.end();
    expect((await events.next()).done).toBe(true);
    expect(await fetch.sdk.counts()).toEqual({});
    await server.close();
  });

  test("a file is uploaded once, byte for byte, as a form", async () => {
    const bytes = new Uint8Array([0, 255, 13, 10, 45, 45]);
    at.api.script(Response.json({ error: {} }, { status: 429, headers: { "retry-after": "0" } }));
    expect(await expected.upload(at.open(), at.api.url, new File([bytes], 'r"ä".bin'))).toBe("a-1");
    const [first, second] = at.api.arrivals;
    expect(second?.bytes.equals(first?.bytes as Buffer)).toBe(true);
    const headers = { "content-type": first?.headers["content-type"] ?? "" };
    const form = await new Response(new Uint8Array(first?.bytes ?? []), { headers }).formData();
    expect(new Uint8Array(await (form.get("file") as File).arrayBuffer())).toEqual(bytes);
  });

  return at;
}
