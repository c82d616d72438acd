import type { Answer } from "../core/classify.js";

/** Members that hold an error's code, wherever in the body they stand. Texts for people are none. */
const named = new Set(["code", "error", "errorcode", "errortype", "issue", "name", "reason", "type"]);
const DEEPEST = 5;
const LARGEST = 65_536;

/** The body as JSON; `undefined` where it is none, or too large for an error. */
export function jsonOf({ headers, body }: Answer): unknown {
  if (!/\bjson\b/i.test(headers.get("content-type") ?? "") || body.byteLength > LARGEST) return undefined;
  try {
    return JSON.parse(new TextDecoder().decode(body));
  } catch {
    return undefined;
  }
}

/** Whether an answer's body holds this error code, in any case. */
export function says(answer: Answer, code: string): boolean {
  return holds(jsonOf(answer), (name, text) => named.has(name) && text.toLowerCase() === code.toLowerCase());
}

/** The first text member of this name, wherever in the body it stands. */
export function textOf(answer: Answer, member: string): string | undefined {
  let found: string | undefined;
  holds(jsonOf(answer), (name, text) => {
    if (name === member) found = text;
    return name === member;
  });
  return found;
}

function holds(value: unknown, fits: (name: string, text: string) => boolean, depth = 0): boolean {
  if (typeof value !== "object" || value === null || depth > DEEPEST) return false;
  return Object.entries(value).some(([name, member]) =>
    typeof member === "string" ? fits(name.toLowerCase(), member) : holds(member, fits, depth + 1),
  );
}
