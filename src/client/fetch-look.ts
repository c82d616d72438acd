import { decode, freezeBody, tagOf } from "../core/body.js";
import { isReadLater, type ReadLimits, readBody, refuse } from "./fetch-body.js";
import { isStream } from "./read-bounded.js";

/** A write, as {@link WrapFetchOptions.only} and {@link WrapFetchOptions.intent} see it. */
export interface WriteRequest {
  readonly url: URL;
  /** Upper case. */
  readonly method: string;
  readonly headers: Headers;
  /** As it was passed to `fetch`; `undefined` where it is inside a `Request`. */
  readonly body: unknown;
  /**
   * Reads the body as text, from a copy: what is inside a `Request` too. What was passed to `fetch` stays unread.
   *
   * @throws MisuseError `body_not_replayable` for a stream, which can be read only once, and beyond `maxBody`
   */
  readonly text: () => Promise<string>;
}

/** Makes {@link WriteRequest.text}. */
export function reader(body: unknown, request: Request | undefined, limits: ReadLimits): WriteRequest["text"] {
  let read: Promise<string> | undefined;
  return () => (read ??= readText(body ?? undefined, request, limits));
}

async function readText(body: unknown, request: Request | undefined, limits: ReadLimits): Promise<string> {
  if (isStream(body)) refuse("to read it as text leaves nothing to send: a stream can be read only once");
  const source = body ?? request?.clone();
  const bytes = isReadLater(source) ? (await readBody(source, limits)).bytes : freezeBody(source, limits.maxBody).body;
  return decode(bytes);
}

/** Whether a body of JSON or a form says `true` under this name. */
export async function asksForStream(
  { body, text }: Pick<WriteRequest, "body" | "text">,
  field: string,
): Promise<boolean> {
  if (tagOf(body) === "FormData") return (body as FormData).get(field) === "true";
  if (isStream(body)) return false;
  const written = await text();
  try {
    return (JSON.parse(written) as Record<string, unknown> | null)?.[field] === true;
  } catch {
    return false;
  }
}

/** What nobody can change any more, of a body that is to be sent after something else was waited for. */
export function detached(body: unknown): unknown {
  const tag = tagOf(body);
  if (tag === "URLSearchParams") return new URLSearchParams(body as URLSearchParams);
  if (tag === "FormData") return copyForm(body as FormData);
  if (tag === "Array" || tag === "Object" || ArrayBuffer.isView(body) || /Buffer$/.test(tag)) {
    const { body: bytes, compare } = freezeBody(body, Number.POSITIVE_INFINITY);
    return compare === "json" ? JSON.parse(decode(bytes)) : bytes;
  }
  return body;
}

function copyForm(form: FormData): FormData {
  const copy = new FormData();
  form.forEach((value, name) => void copy.append(name, value));
  return copy;
}
