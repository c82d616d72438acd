import { mkdtemp, rm } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { type Bundle, bundle } from "../../support/bundle.js";
import { type Child, startChild } from "../../support/child.js";
import type { Told as Span } from "../../support/tracing.js";
import { type HttpServer, startHttpServer } from "../client/http-server.js";
import type { Told } from "./program.js";

let program: Bundle;
let directory: string;
let server: HttpServer;
const children: Child<Told>[] = [];

beforeAll(async () => {
  program = await bundle(new URL("program.ts", import.meta.url));
});
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "samekey-traces-"));
});
afterEach(async () => {
  await Promise.all(children.splice(0).map((child) => child.crash()));
  await server.close();
  await rm(directory, { recursive: true, force: true });
});
afterAll(() => program?.remove());

const json = { "content-type": "application/json", "set-cookie": "session=cookie-sentinel" };
const created = (response: ServerResponse, headers = {}): void =>
  void response.writeHead(201, { ...json, ...headers }).end('{"id":"answer-sentinel"}');

/** Two answers that ask to come again, then one that settles it. */
async function startBusyServer(): Promise<void> {
  server = await startHttpServer((_, response) => {
    if (server.requests.length <= 2) response.writeHead(503, json).end('{"why":"answer-sentinel"}');
    else created(response, { "idempotency-replayed": "true" });
  });
}

function start(mode: string): Child<Told> {
  const child = startChild<Told>(program.path, { args: [mode, server.url, join(directory, "store.sqlite")] });
  children.push(child);
  return child;
}

async function run(mode: string) {
  const child = start(mode);
  await child.ended();
  return { spans: spansOf(child.messages), end: child.messages.flatMap((told) => ("done" in told ? [told] : []))[0] };
}

const spansOf = (told: readonly Told[]): Span[] => told.flatMap((one) => ("span" in one ? [one.span] : []));
const sent = (): (string | undefined)[] => server.requests.map(({ headers }) => headers["traceparent"] as string);

describe("a program with telemetry", () => {
  it("exports a tree of a send with two retries, whose place each request tells the server", async () => {
    await startBusyServer();
    const { spans, end } = await run("send");
    expect(spans.map(({ name, status }) => [name, status])).toEqual([
      ["POST", "ERROR"],
      ["POST", "ERROR"],
      ["POST", "UNSET"],
      ["send transfer", "UNSET"],
    ]);
    const [call, ...attempts] = spans.toReversed();
    for (const { parent, traceId, links } of attempts) {
      expect({ parent, traceId, links }).toEqual({ parent: call?.spanId, traceId: call?.traceId, links: [] });
    }
    expect(sent()).toEqual(attempts.toReversed().map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`));
    expect(end).toMatchObject({ done: "replayed", uncaught: [] });
  });

  it("links the attempt after a crash to the call of the process that was killed", async () => {
    server = await startHttpServer((_, response) => {
      // Never an answer to the first.
      if (server.requests.length > 1) created(response);
    });
    const crashed = start("save");
    await vi.waitFor(() => expect(server.requests).toHaveLength(1), { timeout: 60_000 });
    await crashed.told((one) => "span" in one);
    await crashed.crash();
    const [save, ...others] = spansOf(crashed.messages);
    expect(save?.name).toBe("save transfer");
    expect(others).toEqual([]);

    const { spans, end } = await run("resume");
    expect(end).toMatchObject({ done: "1 succeeded", uncaught: [] });
    expect(spans).toMatchObject([
      {
        name: "POST",
        links: [`${save?.traceId}-${save?.spanId}`],
        attributes: { "samekey.id": save?.attributes["samekey.id"], "http.request.resend_count": 1 },
      },
    ]);
    expect(spans[0]?.parent).toBeUndefined();
    expect(spans[0]?.traceId).not.toBe(save?.traceId);
    // A header of its own: the request is another one, under the same key.
    expect(sent()[1]).toBe(`00-${spans[0]?.traceId}-${spans[0]?.spanId}-01`);
    expect(sent()[1]).not.toBe(sent()[0]);
    const [first, second] = server.requests;
    expect(second?.bytes).toEqual(first?.bytes);
    expect(second?.headers["idempotency-key"]).toBe(first?.headers["idempotency-key"]);
  });

  it("exports nothing of bodies, headers, keys, intents, owners and queries", async () => {
    await startBusyServer();
    const { spans, end } = await run("send");
    const { headers, body, url } = server.requests[0] ?? {};
    // It was all there to be told.
    for (const what of ["credential", "kept", "body", "query"]) {
      expect(JSON.stringify([headers, body, url])).toContain(`${what}-sentinel`);
    }
    const exported = JSON.stringify([spans, end?.metrics]);
    expect(exported).toContain("samekey_settled_total");
    expect(exported).not.toContain("sentinel");
    expect(exported).not.toContain(String(headers?.["idempotency-key"]));
    expect(end?.metrics).not.toContain(String(spans[0]?.attributes["samekey.id"]));
  });

  it("settles its operations however an exporter fails", async () => {
    await startBusyServer();
    const { spans, end } = await run("broken");
    expect(spans).toHaveLength(4);
    expect(server.requests).toHaveLength(3);
    expect(end).toMatchObject({ done: "replayed", uncaught: [] });
  });
});
