import type pg from "pg";
import { expect } from "vitest";
import { type RawRequest, type RawResponse, send } from "../../../support/raw-http.js";
import type { Act, Reply } from "../http-hosts.js";

/** A server under test, and what may be asked of it from behind. */
export interface Target {
  readonly url: string;
  readonly pool: pg.Pool;
  /** What the routes do for this key. Without it: one effect, 201. */
  on(key: string, act: Act): void;
  /** How often the work under this key stands. */
  effects(key: string): Promise<number>;
  /** How many connections the engine has asked for so far. */
  connections(): number;
}

/** What has to hold of every server that samekey makes, whatever serves it. */
export interface Case {
  readonly name: string;
  check(target: Target): Promise<void>;
}

export const bodyLimit: number = 4 * 1024 * 1024;
export const handlerTimeout = 1_000;

export const json = "application/json";

export function post(target: Target, key: string | string[] | undefined, request: RawRequest & { path?: string } = {}) {
  const { path = "/act", body = '{"n":1}', ...rest } = request;
  const headers: RawRequest["headers"] = { authorization: "Bearer acct_1", "content-type": json, ...request.headers };
  if (key !== undefined) headers["idempotency-key"] = key;
  return send(`${target.url}${path}`, { ...rest, headers, body });
}

export const marks = ({ headers }: RawResponse) => [headers["idempotency-status"], headers["idempotency-replayed"]];
export const executed = [["executed"], undefined];
export const replayed = [["replayed"], ["true"]];
export const unmarked = [undefined, undefined];

/** One effect, and this answer. */
export const effect =
  (reply: Reply): Act =>
  async ({ tx, key }) => {
    await tx.query("INSERT INTO effects (key) VALUES ($1)", [key]);
    return reply;
  };

/** One of samekey's own answers, in the form that RFC 9457 and the IETF draft ask for. */
export function expectProblem(response: RawResponse, status: number, error: string, retryAfter?: string): void {
  expect(response.status).toBe(status);
  expect(response.headers["content-type"]).toEqual(["application/problem+json"]);
  expect(response.headers["cache-control"]).toEqual(["no-store"]);
  expect(response.headers["retry-after"]).toEqual(retryAfter && [retryAfter]);
  expect(response.headers["link"]?.[0]).toMatch(/^<https:[^>]+>; rel="describedby"$/);
  const problem = JSON.parse(response.body.toString());
  expect(problem).toEqual({
    type: expect.stringMatching(/^https:\/\/\S+$/),
    title: expect.stringMatching(/\S/),
    status,
    detail: expect.stringMatching(/\S/),
    error,
  });
  expect(marks(response)).toEqual(unmarked);
}

export const typed = (type: string) => ["content-type", type] as const;

/** Every byte there is. */
export const binary = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));

/** A request by hand, for what no client would send. */
export const raw = (lines: readonly string[], body = "{}", method = "POST /act") =>
  Buffer.from(
    [
      `${method} HTTP/1.1`,
      "Host: localhost",
      "Connection: close",
      "Authorization: Bearer acct_1",
      "Content-Type: application/json",
      `Content-Length: ${body.length}`,
      ...lines,
      "",
      body,
    ].join("\r\n"),
    "latin1",
  );
