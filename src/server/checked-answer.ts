import { MisuseError } from "../errors.js";
import { type Answer, bytesOf, type Disposition, dispositionOf, type HeaderPair, headerPairs } from "./answer.js";

/** An answer that can be stored and sent. */
export interface CheckedAnswer {
  readonly status: number;
  readonly headers: readonly HeaderPair[];
  readonly body: Uint8Array | null;
  readonly disposition: Disposition;
}

const dispositions: ReadonlySet<unknown> = new Set<Disposition>(["completed", "refused", "released"]);
const bodiless: ReadonlySet<number> = new Set([204, 205, 304]);
const token = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
const fieldValue = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * Takes a handler's answer, before anything is stored: what is stored and cannot be sent would fail for as long as the
 * key lives.
 *
 * @throws MisuseError `bad_option`
 */
export function checkedAnswer(answer: Answer): CheckedAnswer {
  if (typeof answer !== "object" || answer === null) throw bad("must be an object with a `status`");
  const { status, body, disposition } = answer;
  if (!Number.isInteger(status) || status < 200 || status > 599) {
    throw bad("must have a `status` that is a whole number from 200 to 599");
  }
  if (body !== undefined && body !== null && typeof body !== "string" && !(body instanceof Uint8Array)) {
    throw bad("must have a `body` that is a string, bytes or null; JSON.stringify() values");
  }
  if (body?.length && bodiless.has(status)) throw bad(`must have no \`body\` with status ${status}`);
  if (disposition !== undefined && !dispositions.has(disposition)) {
    throw bad('must have a `disposition` of "completed", "refused" or "released"');
  }
  const headers = headerPairs(answer.headers);
  for (const [name, value] of headers) {
    if (!token.test(name)) throw bad(`has a header whose name HTTP does not allow: ${JSON.stringify(name)}`);
    // Without the value: it may be a secret, or what somebody tried to smuggle in.
    if (!fieldValue.test(value)) throw bad(`has a header \`${name}\` whose value HTTP does not allow`);
  }
  return { status, headers, body: bytesOf(body), disposition: disposition ?? dispositionOf(status) };
}

function bad(detail: string): MisuseError {
  return new MisuseError("bad_option", { detail: `the handler's answer ${detail}` });
}
