import { MisuseError } from "../errors.js";

/** A body frozen to the bytes that every attempt sends. */
export interface FrozenBody {
  readonly body?: ArrayBuffer;
  readonly contentType?: string;
  readonly compare: "json" | "raw";
}

/** `undefined` for no body, text and bytes as they are, everything else as JSON. */
export type BodyInput = unknown;

/** Where in the body the copying stands. */
interface Trail {
  readonly path: (string | number)[];
  readonly above: object[];
}

const DEEPEST = 1000;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/**
 * Serialises a body once. Later mutation of `input` changes nothing.
 *
 * @param maxBytes - the largest body that is accepted
 * @throws MisuseError `body_not_replayable`, naming the path of what cannot be recorded and sent again as it is
 */
export function freezeBody(input: BodyInput, maxBytes: number): FrozenBody {
  const frozen = serialise(input);
  const size = frozen.body?.byteLength ?? 0;
  if (size > maxBytes) refuse(`it has ${size} bytes, more than \`maxBody\` allows (${maxBytes})`);
  return frozen;
}

function serialise(input: BodyInput): FrozenBody {
  if (input === undefined) return { compare: "raw" };
  if (typeof input === "string") {
    if (/\p{Surrogate}/u.test(input))
      refuse("`body` holds half of a surrogate pair, which UTF-8 cannot carry: pass bytes");
    return { body: encode(input), contentType: "text/plain;charset=UTF-8", compare: "raw" };
  }
  if (!isOrdinary(input)) {
    if (isBytes(input)) return { body: copyBytes(input), compare: "raw" };
    if (tagOf(input) === "URLSearchParams") {
      return {
        body: encode(String(input)),
        contentType: "application/x-www-form-urlencoded;charset=UTF-8",
        compare: "raw",
      };
    }
  }
  return { body: encode(toJson(input)), contentType: "application/json", compare: "json" };
}

/** Text as UTF-8 in a buffer of exactly its length. */
export function encode(text: string): ArrayBuffer {
  const bytes = encoder.encode(text);
  return bytes.byteLength === bytes.buffer.byteLength ? bytes.buffer : bytes.slice().buffer;
}

/** Bytes as text, none as an empty one. */
export function decode(bytes: ArrayBuffer | Uint8Array | undefined): string {
  return decoder.decode(bytes);
}

function refuse(detail: string, cause?: unknown): never {
  throw new MisuseError("body_not_replayable", { detail, cause });
}

/** What `Object.prototype.toString` calls a value: right for polyfills and other realms too. */
export function tagOf(value: unknown): string {
  return Object.prototype.toString.call(value).slice(8, -1);
}

/** An object of no class and of this realm: mostly it is one, and to ask for a tag costs more than all other questions. */
function isOrdinary(value: unknown): boolean {
  const prototype: unknown = typeof value === "object" && value !== null && Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function isBytes(value: unknown): value is ArrayBufferView | ArrayBufferLike {
  return ArrayBuffer.isView(value) || ["ArrayBuffer", "SharedArrayBuffer"].includes(tagOf(value));
}

function copyBytes(input: ArrayBufferView | ArrayBufferLike): ArrayBuffer {
  try {
    const view = ArrayBuffer.isView(input)
      ? new Uint8Array(input.buffer, input.byteOffset, input.byteLength)
      : new Uint8Array(input);
    return new Uint8Array(view).buffer;
  } catch (cause) {
    return refuse("`body` is a buffer that was transferred elsewhere: pass a copy of its bytes", cause);
  }
}

/** What `JSON.stringify` writes; but every value is read once, and what JSON would drop or change is refused. */
function toJson(input: unknown): string {
  const trail: Trail = { path: [], above: [] };
  try {
    const copy = copied(input, trail);
    return copy === undefined ? refuse("`body` has a toJSON() that answers undefined") : JSON.stringify(copy);
  } catch (cause) {
    if (cause instanceof MisuseError) throw cause;
    return refuse(`\`${pathOf(trail)}\` cannot be read`, cause);
  }
}

/** The value in plain objects and arrays that nobody else has, for JSON to write as it is. */
function copied(given: unknown, trail: Trail): unknown {
  if (isScalar(given)) return given;
  const value = plain(given, trail);
  if (isScalar(value)) return value;
  if (typeof value === "object") return copyObject(value as object, given as object, trail);
  if (typeof value === "number") return unfit(trail, `is ${value}, which JSON turns into null`);
  const remedy = typeof value === "bigint" ? ": pass it as text" : "";
  return unfit(trail, `is a ${typeof value}, which JSON cannot hold${remedy}`);
}

/** JSON holds it as it is, or leaves it out. */
function isScalar(value: unknown): boolean {
  const type = typeof value;
  return type === "string" || type === "boolean" || value === null || value === undefined || Number.isFinite(value);
}

/** The value, or what its `toJSON` makes of it. */
function plain(value: unknown, { path, above }: Trail): unknown {
  if (typeof value !== "object" || value === null) return value;
  const { toJSON } = value as { toJSON?: unknown };
  // Node's buffers have one.
  if (typeof toJSON !== "function" || isBytes(value)) return value;
  const made: unknown = toJSON.call(value, String(path.at(-1) ?? ""));
  return made === null && tagOf(value) === "Date" ? unfit({ path, above }, "is an invalid Date") : made;
}

function copyObject(object: object, given: object, trail: Trail): object {
  const { path, above } = trail;
  if (above.includes(given) || above.includes(object)) return unfit(trail, "refers back to an object that holds it");
  if (path.length > DEEPEST) return unfit(trail, `is nested more than ${DEEPEST} levels deep`);
  above.push(given, object);
  const copy = Array.isArray(object) ? copyList(object, trail) : copyMembers(object, trail);
  above.pop();
  above.pop();
  return copy;
}

function copyList(list: readonly unknown[], trail: Trail): unknown[] {
  const copy: unknown[] = [];
  for (let i = 0; i < list.length; i++) {
    trail.path.push(i);
    const item = copied(list[i], trail);
    copy.push(item === undefined ? unfit(trail, "is undefined, which JSON turns into null") : item);
    trail.path.pop();
  }
  return copy;
}

function copyMembers(object: object, trail: Trail): object {
  checkPlain(object, trail);
  const copy = membersOf(object, trail);
  for (const name of Object.keys(copy)) {
    if (isScalar(copy[name])) continue;
    trail.path.push(name);
    copy[name] = copied(copy[name], trail);
    trail.path.pop();
  }
  return copy;
}

/** All at once: what is put together name by name costs three times as much. */
function membersOf(object: object, { path }: Trail): Record<string, unknown> {
  try {
    return { ...object };
  } catch (cause) {
    // Which of them it was is told by reading them one by one.
    for (const name of Object.keys(object)) {
      path.push(name);
      void (object as Record<string, unknown>)[name];
      path.pop();
    }
    throw cause;
  }
}

const remedies: Readonly<Record<string, string>> = {
  Map: "pass Object.fromEntries(map)",
  Set: "pass an array",
  Blob: "pass await blob.arrayBuffer()",
  File: "pass await file.arrayBuffer()",
  FormData: "pass a plain object or URLSearchParams, or encode it first and pass the bytes",
  Promise: "await it first",
};

function checkPlain(object: object, trail: Trail): void {
  if (isStream(object as Record<string | symbol, unknown>))
    unfit(trail, "is a stream, which can be read only once: read it first, then pass its bytes");
  if (isOrdinary(object)) return;
  if (isBytes(object))
    unfit(trail, "holds bytes, which JSON cannot hold: encode them as text, or pass them as the whole body");
  const tag = tagOf(object);
  if (tag === "Object") return;
  const remedy = remedies[tag];
  unfit(trail, `is ${/^[AEIOU]/.test(tag) ? "an" : "a"} ${tag}, which JSON cannot hold${remedy ? `: ${remedy}` : ""}`);
}

/** Not in a loop over the names: this is asked of every object. */
function isStream(object: Record<string | symbol, unknown>): boolean {
  return (
    typeof object["getReader"] === "function" ||
    typeof object["next"] === "function" ||
    typeof object["pipe"] === "function" ||
    typeof object[Symbol.asyncIterator] === "function"
  );
}

function unfit(trail: Trail, what: string): never {
  return refuse(`\`${pathOf(trail)}\` ${what}`);
}

function pathOf({ path }: Trail): string {
  const text = path.slice(0, 50).reduce<string>(memberPath, "body");
  return path.length > 50 ? `${text}…` : text;
}

/** How a member is written in a path: `body.items[3]`, `body["odd name"]`. */
export function memberPath(path: string, name: string | number): string {
  if (typeof name === "number") return `${path}[${name}]`;
  return /^[A-Za-z_$][\w$]*$/.test(name) ? `${path}.${name}` : `${path}[${JSON.stringify(name)}]`;
}
