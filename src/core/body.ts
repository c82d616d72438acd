import { MisuseError } from "../errors.js";

/** A body frozen to the bytes that every attempt sends. */
export interface FrozenBody {
  readonly body?: ArrayBuffer;
  readonly contentType?: string;
  readonly compare: "json" | "raw";
}

/** `undefined` for no body, text and bytes as they are, everything else as JSON. */
export type BodyInput = unknown;

const encoder = new TextEncoder();

/**
 * Serialises a body once. Later mutation of `input` changes nothing.
 *
 * @param maxBytes - the largest body that is accepted
 * @throws MisuseError `body_not_replayable`, naming the path of what JSON cannot hold
 */
export function freezeBody(input: BodyInput, maxBytes: number): FrozenBody {
  const frozen = serialise(input);
  if (frozen.body && frozen.body.byteLength > maxBytes) {
    refuse(`it has ${frozen.body.byteLength} bytes, more than \`maxBody\` (${maxBytes})`);
  }
  return frozen;
}

function serialise(input: BodyInput): FrozenBody {
  if (input === undefined) return { compare: "raw" };
  if (typeof input === "string") {
    return { body: encode(input), contentType: "text/plain;charset=UTF-8", compare: "raw" };
  }
  if (input instanceof ArrayBuffer) return { body: input.slice(0), compare: "raw" };
  if (ArrayBuffer.isView(input)) {
    const copy = new Uint8Array(input.byteLength);
    copy.set(new Uint8Array(input.buffer, input.byteOffset, input.byteLength));
    return { body: copy.buffer, compare: "raw" };
  }
  if (input instanceof URLSearchParams) {
    const contentType = "application/x-www-form-urlencoded;charset=UTF-8";
    return { body: encode(input.toString()), contentType, compare: "raw" };
  }
  checkJson(input, "body", []);
  return { body: encode(JSON.stringify(input)), contentType: "application/json", compare: "json" };
}

/** Text as UTF-8 in a buffer of exactly its length. */
export function encode(text: string): ArrayBuffer {
  const bytes = encoder.encode(text);
  return bytes.byteLength === bytes.buffer.byteLength ? bytes.buffer : bytes.slice().buffer;
}

function refuse(detail: string): never {
  throw new MisuseError("body_not_replayable", { detail });
}

const oneShot = ["getReader", "next", "pipe"] as const;

/** Refuses what `JSON.stringify` would drop, change or choke on. */
function checkJson(value: unknown, path: string, above: readonly object[]): void {
  switch (typeof value) {
    case "string":
    case "boolean":
      return;
    case "number":
      if (!Number.isFinite(value)) refuse(`\`${path}\` is ${value}, which JSON turns into null`);
      return;
    case "object":
      break;
    default:
      refuse(`\`${path}\` is a ${typeof value}, which JSON cannot hold`);
  }
  if (value === null) return;
  const object = value as object & { toJSON?: (key?: string) => unknown };
  if (above.includes(object)) refuse(`\`${path}\` refers back to an object that holds it`);
  if (typeof object.toJSON === "function") {
    if (object instanceof Date && Number.isNaN(object.getTime())) refuse(`\`${path}\` is an invalid Date`);
    // A class may answer with itself.
    const plain = object.toJSON(path);
    if (plain !== object) checkJson(plain, path, [...above, object]);
    return;
  }
  const inside = [...above, object];
  if (Array.isArray(object)) {
    for (let index = 0; index < object.length; index++) checkJson(object[index], `${path}[${index}]`, inside);
    return;
  }
  if (oneShot.some((name) => name in object) || Symbol.asyncIterator in object) {
    refuse(`\`${path}\` is a stream, which can be read only once: read it first, then pass its bytes`);
  }
  const prototype: unknown = Object.getPrototypeOf(object);
  if (prototype !== Object.prototype && prototype !== null && Object.prototype.toString.call(object) !== "[object Object]") {
    refuse(`\`${path}\` is a ${Object.prototype.toString.call(object).slice(8, -1)}, which JSON cannot hold`);
  }
  for (const [name, member] of Object.entries(object)) {
    // As everywhere in JSON, a member that is undefined is a member that is absent.
    if (member !== undefined) checkJson(member, memberPath(path, name), inside);
  }
}

/** How a member is written in a path: `body.items`, `body["odd name"]`. */
export function memberPath(path: string, name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? `${path}.${name}` : `${path}[${JSON.stringify(name)}]`;
}
