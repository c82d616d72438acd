/** The drop-in `fetch` in Chromium: every kind of body, byte for byte at the server, with and without a service worker. */

import type { IncomingMessage, ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import type { Page } from "playwright";
import { afterEach, beforeEach, expect, test } from "vitest";
import { lose } from "../../../src/testing/index.js";
import { eventually, PLAIN_HOST, setUp } from "./tools.js";

const setting = setUp();

/** What of a request has to be the same over attempts. */
interface Seen {
  readonly path: string;
  readonly key: string | null | undefined;
  readonly type: string | null;
  readonly bytes: string;
}

const bodies = ["text", "json", "parameters", "bytes", "view", "blob", "form", "stream", "nothing", "keepalive"];
const kinds = [...bodies, "json in Request", "form in Request", "blob in Request", "keepalive in Request"];

const taken: Seen[] = [];
const held: ServerResponse[] = [];
const counts = new Map<string, number>();

beforeEach(() => {
  taken.length = 0;
  counts.clear();
  setting.site.intercept = (request, response) => watch(request, response);
});
afterEach(() => {
  for (const response of held.splice(0)) response.destroy();
});

/** Fails the first attempt of each operation, loses the answer of the second, holds the third; then all goes well. */
function watch(request: IncomingMessage, response: ServerResponse): boolean {
  const { url: path = "", headers } = request;
  const key = headers["idempotency-key"] as string | undefined;
  const take = async (then: () => void): Promise<void> => {
    const bytes = (await buffer(request)).toString("latin1");
    taken.push({ path, key, type: headers["content-type"] ?? null, bytes });
    then();
  };
  if (key === undefined) {
    void take(() => response.writeHead(204).end());
    return true;
  }
  const count = (counts.get(key) ?? 0) + 1;
  counts.set(key, count);
  if (count === 1) void take(() => response.writeHead(503).end());
  if (count === 2) setting.site.api.script(lose.response());
  if (count === 3) void take(() => held.push(response));
  return count === 1 || count === 3;
}

/** All requests that carried a key. */
function keyed(): Seen[] {
  const answered = setting.site.api.calls.map(({ url, key, headers, body }) => ({
    path: new URL(url).pathname,
    key,
    type: headers.get("content-type"),
    bytes: Buffer.from(body).toString("latin1"),
  }));
  return [...taken.filter(({ key }) => key !== undefined), ...answered];
}

/** A body as it is but for the boundary of a form, which the platform makes up anew each time. */
function settled({ type, bytes }: Seen): string[] {
  const boundary = /boundary=(\S+)$/.exec(type ?? "")?.[1] ?? "\n\n";
  return [(type ?? "").replace(boundary, "B"), bytes.replaceAll(boundary, "B")];
}

/** One call, whose page is reloaded in its third attempt. */
async function expectSameThroughReload(page: Page, api: string, kind: string): Promise<void> {
  await page.evaluate(
    async ([url, name]) => {
      drop.open(url);
      await drop.plain(url, name).catch(() => {});
      drop.send(url, name);
    },
    [api, kind] as const,
  );
  await eventually(() => held.length).toBe(1);
  await page.reload();
  const report = await page.evaluate((url) => drop.open(url).sdk.resume({ wait: "60s" }), api);
  expect(report, kind).toMatchObject({ succeeded: 1, remaining: 0 });
  for (const response of held.splice(0)) response.destroy();

  const path = encodeURIComponent(kind);
  const ours = keyed().filter((seen) => seen.path === `/drop/${path}`);
  expect(ours.length, kind).toBeGreaterThanOrEqual(4);
  expect(new Set(ours.map((seen) => JSON.stringify(seen))).size, `every attempt of ${kind} is the same`).toBe(1);
  const plain = taken.filter((seen) => seen.path === `/plain/${path}`);
  // Chromium itself sends a stream over HTTP/2 alone.
  expect(plain.map(settled), kind).toEqual(kind === "stream" ? [] : [settled(ours[0] as Seen)]);
  const effects = setting.site.api.effects.filter(({ key }) => key === ours[0]?.key);
  expect(effects, `${kind}: one effect`).toHaveLength(1);
}

test.each(["absent", "present, and it sends by itself", "present, and it lets pass"])(
  "F16 every kind of body is the same bytes over attempts and a reload; service worker: %s",
  { timeout: 120_000 },
  async (worker) => {
    const { site, tab } = setting;
    const page = await tab(`${site.url}/fetch`);
    const how = /sends/.test(worker) ? "responds" : "passes";
    if (worker !== "absent") await page.evaluate((given) => drop.control(given), how);
    for (const kind of kinds) await expectSameThroughReload(page, site.url, kind);
    expect(await page.evaluate(() => navigator.serviceWorker.controller !== null)).toBe(worker !== "absent");
  },
);

test.each(["absent", "responds"])(
  "F29 an API of another origin gets the key past its preflight; service worker: %s",
  async (how) => {
    const { site, tab } = setting;
    const preflights: string[] = [];
    site.intercept = (request, response) => {
      response.setHeader("access-control-allow-origin", "*");
      if (request.method !== "OPTIONS") return watch(request, response);
      preflights.push(String(request.headers["access-control-request-headers"]));
      response.setHeader("access-control-allow-headers", "content-type, idempotency-key");
      response.writeHead(204).end();
      return true;
    };
    const page = await tab(`${site.url}/fetch`);
    if (how !== "absent") await page.evaluate((given) => drop.control(given), how);
    const api = `http://${PLAIN_HOST}:${site.port}`;
    for (const kind of ["json", "form", "keepalive"]) await expectSameThroughReload(page, api, kind);
    expect(preflights.some((headers) => headers.includes("idempotency-key"))).toBe(true);
  },
);
