import { memberPath } from "./body.js";
import type { StoredRequest } from "./record.js";

/** What of a request decides whether it is "the same": method, URL and body, not headers. */
export type Comparable = Pick<StoredRequest, "method" | "url" | "body" | "compare">;

const decoder = new TextDecoder();

/** JSON with the members of every object in code-unit order: equal exactly when the values are. */
export function canonicalJson(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`;
  const members = Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`);
  return `{${members.join()}}`;
}

/** The bytes whose digest stands for the request once its body is dropped. */
export function comparableBytes(request: Comparable): Uint8Array<ArrayBuffer> {
  const head = `${request.method} ${request.url} ${request.compare}\n`;
  const body = request.compare === "json" ? new TextEncoder().encode(canonicalBody(request.body)) : request.body;
  const prefix = new TextEncoder().encode(head);
  const bytes = new Uint8Array(prefix.byteLength + (body?.byteLength ?? 0));
  bytes.set(prefix);
  if (body) bytes.set(new Uint8Array(body), prefix.byteLength);
  return bytes;
}

function canonicalBody(body: ArrayBuffer | undefined): string {
  return body === undefined ? "" : canonicalJson(JSON.parse(decoder.decode(body)));
}

/** Whether two requests, both with their bodies, are the same. */
export function sameRequest(a: Comparable, b: Comparable): boolean {
  if (a.method !== b.method || a.url !== b.url) return false;
  if (sameBytes(a.body, b.body)) return true;
  return a.compare === "json" && b.compare === "json" && canonicalBody(a.body) === canonicalBody(b.body);
}

function sameBytes(a: ArrayBuffer | undefined, b: ArrayBuffer | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
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
    diff(JSON.parse(decoder.decode(a.body)), JSON.parse(decoder.decode(b.body)), "body", fields);
  } else if (!sameBytes(a.body, b.body)) fields.push("body");
  return fields.slice(0, 20);
}

function diff(a: unknown, b: unknown, path: string, fields: string[]): void {
  if (fields.length >= 20 || a === b) return;
  if (typeof a !== "object" || typeof b !== "object" || !a || !b || Array.isArray(a) !== Array.isArray(b)) {
    fields.push(path);
    return;
  }
  const left = a as Record<string, unknown>;
  const right = b as Record<string, unknown>;
  for (const name of new Set([...Object.keys(left), ...Object.keys(right)])) {
    diff(left[name], right[name], Array.isArray(a) ? `${path}[${name}]` : memberPath(path, name), fields);
  }
}
