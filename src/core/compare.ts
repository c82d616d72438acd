import { decode, memberPath } from "./body.js";
import type { StoredRequest } from "./record.js";

/** What of a request decides whether it is "the same": method, URL and body, not headers. */
export type Comparable = Pick<StoredRequest, "method" | "url" | "body" | "compare">;

const MOST_FIELDS = 20;

/** JSON with the members of every object in code-unit order: equal exactly when the values are. */
export function canonicalJson(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`;
  const members = Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`);
  return `{${members.join()}}`;
}

/** The bytes whose digest stands for the request once its body is dropped: equal exactly when {@link sameRequest}. */
export function comparableBytes(request: Comparable): Uint8Array<ArrayBuffer> {
  const head = new TextEncoder().encode(`${request.method} ${request.url} ${request.compare}\n`);
  const body = request.compare === "json" ? new TextEncoder().encode(canonicalBody(request.body)) : request.body;
  const bytes = new Uint8Array(head.byteLength + (body?.byteLength ?? 0));
  bytes.set(head);
  if (body) bytes.set(new Uint8Array(body), head.byteLength);
  return bytes;
}

function parseBody(body: ArrayBuffer): unknown {
  return JSON.parse(decode(body));
}

function canonicalBody(body: ArrayBuffer | undefined): string {
  return body === undefined ? "" : canonicalJson(parseBody(body));
}

/** Whether two requests, both with their bodies, are the same: values as canonical JSON, raw ones byte by byte. */
export function sameRequest(a: Comparable, b: Comparable): boolean {
  return a.method === b.method && a.url === b.url && sameBody(a, b);
}

function sameBody(a: Comparable, b: Comparable): boolean {
  if (a.compare !== b.compare) return false;
  return sameBytes(a.body, b.body) || (a.compare === "json" && canonicalBody(a.body) === canonicalBody(b.body));
}

function sameBytes(a: ArrayBuffer = new ArrayBuffer(0), b: ArrayBuffer = new ArrayBuffer(0)): boolean {
  if (a.byteLength !== b.byteLength) return false;
  const left = new Uint8Array(a);
  const right = new Uint8Array(b);
  return left.every((byte, index) => byte === right[index]);
}

/** The paths at which two requests differ, at most 20: `method`, `url`, `body.items[3].when`. */
export function differingFields(a: Comparable, b: Comparable): string[] {
  const fields: string[] = [];
  if (a.method !== b.method) fields.push("method");
  if (a.url !== b.url) fields.push("url");
  if (a.compare === "json" && b.compare === "json" && a.body && b.body) {
    diff(parseBody(a.body), parseBody(b.body), "body", fields);
  } else if (!sameBody(a, b)) fields.push("body");
  return fields;
}

function diff(a: unknown, b: unknown, path: string, fields: string[]): void {
  if (a === b || fields.length >= MOST_FIELDS) return;
  if (typeof a !== "object" || typeof b !== "object" || !a || !b || Array.isArray(a) !== Array.isArray(b)) {
    fields.push(path);
    return;
  }
  const isList = Array.isArray(a);
  for (const name of new Set([...Object.keys(a), ...Object.keys(b)])) {
    diff(own(a, name), own(b, name), memberPath(path, isList ? Number(name) : name), fields);
  }
}

function own(value: object, name: string): unknown {
  return Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
}
