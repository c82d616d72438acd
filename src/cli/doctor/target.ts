import { readFileSync } from "node:fs";
import { type Duration, toMs } from "../../core/durations.js";
import { MisuseError } from "../../errors.js";

/** The options of `samekey doctor`, as commander gives them. */
export interface DoctorOptions {
  readonly method: string;
  readonly body?: string;
  readonly bodyFile?: string;
  readonly otherBody?: string;
  readonly header?: readonly string[];
  readonly keyHeader: string;
  readonly origin?: string;
  readonly timeout: Duration;
}

/** What is examined, resolved and validated. */
export interface Target {
  readonly url: URL;
  readonly method: string;
  /** Absent where none is sent. */
  readonly body: Uint8Array | undefined;
  /** Another body than `body`; absent where none could be made. */
  readonly otherBody: Uint8Array | undefined;
  /** Whether the other body also means something else, and does not only differ in its bytes. */
  readonly meansOther: boolean;
  /** The caller's own, and the content type. Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** As given, for a server's eyes and the reader's. */
  readonly keyHeader: string;
  readonly origin: string | undefined;
  /** How long one request may take, in ms. */
  readonly timeout: number;
}

const TOKEN = /^[!#$%&'*+.^_`|~\w-]+$/;
const ofTheConnection = new Set(
  "connection content-length expect host keep-alive origin proxy-connection te trailer transfer-encoding upgrade".split(
    " ",
  ),
);

// The CORS-safelisted request headers of the Fetch standard.
const simpleNames = new Set(["accept", "accept-language", "content-language"]);
const simpleTypes = /^(text\/plain|multipart\/form-data|application\/x-www-form-urlencoded)\b/i;

/** @throws MisuseError `bad_option`, naming the option and never the value of a header */
export function resolveTarget(url: string, options: DoctorOptions): Target {
  const method = options.method.toUpperCase();
  if (!/^(POST|PUT|PATCH|DELETE)$/.test(method)) bad("--method is none of POST, PUT, PATCH and DELETE");
  if (!TOKEN.test(options.keyHeader)) bad("--key-header is not the name of a header");
  const body = bodyOf(options);
  const headers = headersOf(options);
  if (options.keyHeader.toLowerCase() in headers) bad("--header holds the key's header: the doctor makes its own keys");
  if (body && !("content-type" in headers)) headers["content-type"] = parsed(body) ? "application/json" : "text/plain";
  return {
    url: urlOf(url),
    method,
    body,
    ...otherBodyOf(options, body),
    headers,
    keyHeader: options.keyHeader,
    origin: options.origin === undefined ? undefined : originOf(options.origin),
    timeout: timeoutOf(options.timeout),
  };
}

/** The headers that a browser asks leave for: all but the simplest, in the order that it asks in. */
export function askedHeaders({ headers, keyHeader }: Target): string[] {
  const isSimple = (name: string): boolean =>
    simpleNames.has(name) || (name === "content-type" && simpleTypes.test(headers[name] ?? ""));
  const own = Object.keys(headers).filter((name) => !isSimple(name));
  return [...own, keyHeader.toLowerCase()].sort();
}

function bad(detail: string): never {
  throw new MisuseError("bad_option", { detail });
}

function urlOf(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) return bad("the URL is not an absolute http(s) URL");
  if (url.username || url.password) bad("the URL holds a user name or password; pass it with --header");
  return url;
}

function originOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.href !== `${url.origin}/`) {
    return bad("--origin is not an origin such as https://shop.example.com");
  }
  return url.origin;
}

function timeoutOf(given: Duration): number {
  const ms = toMs(given, "--timeout");
  if (ms < 1 || ms > 60_000) bad("--timeout is not between 1ms and 1m");
  return ms;
}

function headersOf({ header = [] }: DoctorOptions): Record<string, string> {
  const lines = header.flatMap((given) =>
    given.startsWith("@") ? read(given.slice(1), "--header").split("\n") : given,
  );
  const headers: Record<string, string> = {};
  for (const line of lines) {
    if (line.trim() === "") continue;
    const at = line.indexOf(":");
    const name = line.slice(0, Math.max(at, 0)).trim().toLowerCase();
    const value = line.slice(at + 1).trim();
    if (!TOKEN.test(name) || !/^[\t\x20-\x7e]*$/.test(value)) bad("a --header is not of the form `name: value`");
    if (ofTheConnection.has(name)) bad(`--header cannot set \`${name}\``);
    if (name in headers) bad(`--header names \`${name}\` twice`);
    headers[name] = value;
  }
  return headers;
}

function bodyOf({ body, bodyFile }: DoctorOptions): Uint8Array | undefined {
  if (body !== undefined) return new TextEncoder().encode(body);
  return bodyFile === undefined ? undefined : readBytes(bodyFile, "--body-file");
}

function otherBodyOf(
  { otherBody }: DoctorOptions,
  body: Uint8Array | undefined,
): Pick<Target, "otherBody" | "meansOther"> {
  if (otherBody !== undefined) {
    const bytes = new TextEncoder().encode(otherBody);
    if (body && Buffer.compare(body, bytes) === 0) bad("--other-body is the same as the body");
    return { otherBody: bytes, meansOther: true };
  }
  if (!body || body.length === 0) return { otherBody: undefined, meansOther: false };
  const object = parsed(body)?.value;
  if (typeof object === "object" && object !== null && !Array.isArray(object)) {
    const text = JSON.stringify({ ...object, "samekey-doctor": "another body" });
    return { otherBody: new TextEncoder().encode(text), meansOther: true };
  }
  return { otherBody: Buffer.concat([body, Buffer.from(" ")]), meansOther: false };
}

function parsed(body: Uint8Array): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body)) };
  } catch {
    return undefined;
  }
}

const read = (path: string, option: string): string => new TextDecoder().decode(readBytes(path, option));

function readBytes(path: string, option: string): Uint8Array {
  try {
    return readFileSync(path);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new MisuseError("bad_option", { detail: `${option}: ${path} cannot be read (${code})`, cause });
  }
}
