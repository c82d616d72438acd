/** All that is known of one operation. */

import {
  type AttemptEntry,
  isUncertain,
  type OperationRecord,
  type StoredResponse,
  wasApplied,
  windowEnd,
} from "../core/record.js";
import { type Content, make, time } from "./dom.js";

/** Its facts, its attempts, and its body to be unfolded. */
export function detailOf(record: OperationRecord): readonly Node[] {
  return [factsOf(record), ...timelineOf(record), ...bodyOf("Request", record.request)];
}

function factsOf(record: OperationRecord): HTMLElement {
  const { id, key, owner, lane, request, createdAt, response, resolution, reissueOf, settledAt, state } = record;
  const end = isUncertain(record) ? windowEnd(record) : undefined;
  const facts: readonly [string, Content][] = [
    ["Id", id],
    ["Idempotency key", key],
    ["Request", `${request.method} ${request.url}`],
    ["Owner", owner],
    ["Lane", lane],
    ["Recorded", time(createdAt)],
    ["May have been applied", appliedOf(record)],
    ["The key is good until", end === undefined ? undefined : time(end)],
    ["Next attempt", state === "pending" ? time(record.nextAttemptAt) : undefined],
    ["The server said", response && answerOf(response)],
    ["Settled", settledAt === undefined ? undefined : time(settledAt)],
    ["Decided", resolution && `${resolution.how}${resolution.reason ? `: ${resolution.reason}` : ""}`],
    ["In the place of", reissueOf],
  ];
  return make(
    "dl",
    {},
    ...facts.flatMap(([name, value]) =>
      value === undefined ? [] : [make("div", {}, make("dt", {}, name), make("dd", {}, value))],
    ),
  );
}

function answerOf({ status, replayed, exceeded }: StoredResponse): string {
  return `${status}${replayed ? ", replayed" : ""}${exceeded ? `, more than ${exceeded} bytes: not kept` : ""}`;
}

function appliedOf(record: OperationRecord): string {
  if (record.state === "unresolved") return "Yes: nobody knows.";
  return { yes: "It was.", maybe: "Yes, by an attempt whose answer was lost.", no: "No." }[wasApplied(record)];
}

function timelineOf({ history, attempts }: OperationRecord): readonly Node[] {
  if (attempts === 0) return [make("p", {}, "Never attempted.")];
  const missing = attempts - history.length;
  return [
    make("h4", {}, attempts === 1 ? "One attempt" : `${attempts} attempts`),
    make(
      "ol",
      { class: "timeline", start: String(Math.max(1, missing + 1)) },
      ...history.map((entry) => make("li", { "data-verdict": entry.verdict }, time(entry.at), ` ${told(entry)}`)),
    ),
  ];
}

function told({ ms, verdict, status, cause }: AttemptEntry): string {
  return [verdict.replaceAll("_", " "), status, cause, `after ${Math.round(ms)} ms`].filter(Boolean).join(", ");
}

function bodyOf(what: string, { body, contentType: type = "", sealed }: OperationRecord["request"]): readonly Node[] {
  if (sealed) return [make("p", {}, `${what} body: sealed under key ${sealed.key}, which does not open it here.`)];
  if (!body || body.byteLength === 0) return [];
  const isText = /json|^text\/|urlencoded|xml/i.test(type);
  const text = isText
    ? new TextDecoder().decode(body.slice(0, 20_000))
    : `${body.byteLength} bytes of ${type || "data"}`;
  return [make("details", {}, make("summary", {}, `${what} body`), make("pre", { tabindex: "0" }, text))];
}
