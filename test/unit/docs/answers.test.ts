import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../../../scripts/entries.mjs";
import { type AnswerRules, classify, type Verdict } from "../../../src/core/classify.js";

const page = readFileSync(join(root, "docs/concepts.md"), "utf8");
const table = page.split("| what comes | what follows |")[1]?.split("\n\n")[0]?.split("\n").slice(2) ?? [];
const rows = table.map(
  (line) =>
    line
      .split("|")
      .slice(1, 3)
      .map((cell) => cell.trim()) as [string, string],
);

const rules: AnswerRules = { json: true, conflict: "in-progress", unprocessable: "misused" };
const others: Record<string, number[]> = {
  "2xx": [200, 201, 202, 204],
  "3xx": [301, 302, 303, 307, 308],
  "4xx": [400, 402, 403, 404, 405, 406, 411, 412, 413, 415, 418, 428, 431, 451],
  "5xx": [500, 502, 503, 504, 507, 520, 599],
};

/** What the table has for an answer of this status, with whatever its row says that comes with it. */
function verdict(status: number, what: string): Verdict {
  const code = /code that says (in progress|the key is expired)/.exec(what)?.[1];
  const headers = new Headers({ "content-type": what.includes("HTML") ? "text/html" : "application/json" });
  if (what.includes("`Retry-After`")) headers.set("retry-after", "2");
  const error = { "in progress": "in_progress", "the key is expired": "idempotency_key_expired" }[code ?? ""];
  const body = what.includes("cut off") ? undefined : new TextEncoder().encode(JSON.stringify({ error })).buffer;
  return classify({ kind: "answer", status, headers, body: body as ArrayBuffer | undefined }, rules, 0);
}

/** The same in the words of the page. */
function inWords(verdict: Verdict): RegExp {
  switch (verdict.kind) {
    case "succeeded":
      return /^succeeded$/;
    case "refused":
      return /^rejected; where something is uncertain, blocked, `refused`$/;
    case "misused":
      return /^`MisuseError`/;
    case "retry":
      return verdict.certain ? /^tried again$/ : /^tried again(?: for 60 s, then blocked, `refused`)?; uncertain$/;
    case "blocked":
      return new RegExp(`^blocked, \`${verdict.by}\`${verdict.certain ? "$" : "; uncertain$"}`);
    case "key_expired":
      return /^a new key, once; where something is uncertain, unresolved$/;
    default:
      return /^unresolved$/;
  }
}

const told = rows.flatMap(([what, follows]) =>
  [...what.matchAll(/\b(?:(\d{3})|(\dxx))\b/g)].flatMap(([, one, kind = ""]) =>
    (one ? [Number(one)] : (others[kind] ?? [])).map((status) => [status, what, follows] as const),
  ),
);

test.each(told)("%i, as in '%s', is what docs/concepts.md says: %s", (status, what, follows) => {
  expect(follows).toMatch(inWords(verdict(status, what)));
});

test("every status that the page names was looked at", () =>
  expect(new Set(told.map(([status]) => status)).size).toBeGreaterThan(40));
