/** One request, exactly as it went out or came in. */
export class MockRequest {
  readonly method: string;
  /** Absolute. */
  readonly url: string;
  /** Without the query; not decoded. */
  readonly path: string;
  readonly headers: Headers;
  /** The raw bytes; empty without a body. */
  readonly body: Uint8Array;
  /** The idempotency key, without quotes; `undefined` where there is none or it is malformed. */
  readonly key: string | undefined;
  /** When, by the server's clock: milliseconds since the Unix epoch. */
  readonly at: number;
  /** What stood at the `:names` of the route's path, decoded. Empty outside of a route's handler. */
  readonly params: Readonly<Record<string, string>>;

  constructor(parts: Pick<MockRequest, "method" | "url" | "headers" | "body" | "key" | "at" | "params">) {
    this.method = parts.method;
    this.url = parts.url;
    this.path = new URL(parts.url).pathname;
    this.headers = parts.headers;
    this.body = parts.body;
    this.key = parts.key;
    this.at = parts.at;
    this.params = parts.params;
  }

  /** The body as text. */
  text(): string {
    return new TextDecoder().decode(this.body);
  }

  /** The body as JSON. @throws SyntaxError when it is not JSON */
  json<T = unknown>(): T {
    return JSON.parse(this.text());
  }
}

/** Whether a request changes something, and so needs a key and can meet faults. */
export function isWrite(method: string): boolean {
  return !["GET", "HEAD", "OPTIONS"].includes(method);
}
