import { expect } from "vitest";
import { exchange, type RawResponse, send } from "../../../support/raw-http.js";

/** A server with one operation under a key, as somebody sees it who knows the draft and nothing else. */
export interface DraftServer {
  /** Where the operation is. */
  readonly operation: string;
  /** Something that may be read beside it, and changes with every operation. */
  readonly reading: string;
  /** Where the expiration policy and the format of keys are published. */
  readonly policy: string;
  /** A request's body; another one for another number. */
  body(number: number): string;
  /** A body that the operation refuses with an error of its own. */
  readonly refused: string;
  /** How often the operation has been carried out under this key. */
  done(key: string): Promise<number>;
  /** Lets the operation under this key begin, and end only when what is done meanwhile has ended. */
  during<T>(key: string, first: () => Promise<T>, meanwhile: () => Promise<unknown>): Promise<T>;
}

/** What has to hold of each. */
export interface DraftCase {
  readonly name: string;
  check(server: DraftServer): Promise<void>;
}

export interface Sent {
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Record<string, string>;
}

/** Carries out the operation, with what stands in `Idempotency-Key`. */
export function ask(server: DraftServer, field: string | undefined, sent: Sent = {}): Promise<RawResponse> {
  const { method = "POST", body = server.body(1), headers = {} } = sent;
  const key = field === undefined ? {} : { "Idempotency-Key": field };
  return send(server.operation, { method, body, headers: { "Content-Type": "application/json", ...key, ...headers } });
}

/** The same with header lines as they are, and the status of what comes. */
export async function askInLines(server: DraftServer, lines: readonly string[]): Promise<number> {
  const { pathname, host } = new URL(server.operation);
  const body = server.body(1);
  const head = [
    `POST ${pathname} HTTP/1.1`,
    `Host: ${host}`,
    "Connection: close",
    "Content-Type: application/json",
    `Content-Length: ${body.length}`,
    ...lines,
  ];
  const answer = await exchange(server.operation, Buffer.from(`${head.join("\r\n")}\r\n\r\n${body}`, "latin1"));
  return Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]);
}

/** Status, type and body. Not what differs with every answer. */
export const result = ({ status, headers, body }: RawResponse) => [status, headers["content-type"], body.toString()];

/** An error that the draft describes: RFC 9457, with a link to what it is about, in the body and in `Link`. */
export function expectError(response: RawResponse, status: number, title: string): void {
  expect(response.status).toBe(status);
  expect(response.headers["content-type"]).toEqual(["application/problem+json"]);
  const problem = JSON.parse(response.body.toString());
  expect(problem).toMatchObject({ title, status });
  expect(problem.detail).toMatch(/\w/);
  expect(new URL(problem.type).protocol).toBe("https:");
  expect(response.headers["link"]?.join()).toMatch(/<https:\/\/[^>]+>; *rel="?describedby"?/);
}
