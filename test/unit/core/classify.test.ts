import { describe, expect, it } from "vitest";
import {
  type AnswerRules,
  classify,
  isReplay,
  type Signal,
  speaksForKey,
  type Verdict,
} from "../../../src/core/classify.js";
import { bytes } from "../../support/records.js";
import { attempted, SECOND, stored, T0, uncertain } from "./machine.js";

const rules: AnswerRules = { json: true, conflict: "in-progress", unprocessable: "misused" };
const marks = { "idempotency-status": "executed" };

function signal(status: number, body: unknown = "", headers: Record<string, string> = {}): Signal {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const type = typeof body === "string" ? {} : { "content-type": "application/problem+json" };
  return { kind: "answer", status, headers: new Headers({ ...type, ...headers }), body: bytes(text) };
}

const read = (of: Signal, how: Partial<AnswerRules> = {}): Verdict => classify(of, { ...rules, ...how }, T0);

const succeeded = { kind: "succeeded", speaks: false };
const refused = { kind: "refused", speaks: false };
const retry = (certain: boolean, more: object = {}) => ({ kind: "retry", certain, ...more });
const blocked = (by: string, certain: boolean) => ({ kind: "blocked", by, certain });
const misused = (code: string) => ({ kind: "misused", code, speaks: false });

/** What a bare answer of this status means: no marks, no body, no headers. */
function bare(status: number): object {
  if (status >= 200 && status <= 299) return succeeded;
  if (status >= 300 && status <= 399) return blocked("redirected", false);
  if ([401, 407, 511].includes(status)) return blocked("credentials", true);
  if (status === 409) return retry(false, { conflict: true });
  if (status === 410) return { kind: "key_expired" };
  if (status === 422) return misused("unprocessable");
  if (status === 425 || status === 429) return retry(true);
  if (status === 408 || status === 423) return retry(false);
  if ((status >= 400 && status <= 499) || status === 501 || status === 505) return refused;
  return retry(false);
}

const everyStatus = Array.from({ length: 500 }, (_, index) => index + 100);
const oddStatuses = [-1, 0, 1, 99, 600, 700, 999, 1000, Number.NaN];

describe("what a status means", () => {
  it.each([...everyStatus, ...oddStatuses])("%d without more", (status) => {
    expect(read(signal(status))).toEqual(bare(status));
  });

  it("F23 whose body was cut off: it is no answer", () => {
    for (const status of everyStatus) {
      const cut: Signal = { kind: "answer", status, headers: new Headers(marks) };
      expect(read(cut), String(status)).toEqual(retry(false));
    }
  });

  it("that speaks for the key: it settles", () => {
    for (const status of everyStatus.filter((each) => each >= 200)) {
      // A redirect that the server has bound to the key tells where the effect is to be seen.
      const kind = status < 400 ? "succeeded" : status === 422 ? "misused" : "refused";
      for (const headers of [marks, { "idempotency-replayed": "true" }]) {
        expect(read(signal(status, "", headers)), String(status)).toMatchObject({ kind, speaks: true });
      }
    }
  });
});

describe("what the answer's headers and codes add", () => {
  const after = { "retry-after": "7" };
  it.each<[string, Signal, object]>([
    ["F24 204 without a body", signal(204), succeeded],
    ["F24 200 with an empty body", signal(200), succeeded],
    ["F24 201 as text", signal(201, "ok", { "content-type": "text/plain" }), succeeded],
    ["F24 200 with broken JSON", signal(200, "{", { "content-type": "application/json" }), succeeded],
    ["F24 200 with an empty body that is called HTML", signal(200, "", { "content-type": "text/html" }), succeeded],
    [
      "a captive portal",
      signal(200, "<html>", { "content-type": "text/html; charset=utf-8" }),
      blocked("refused", false),
    ],
    [
      "a captive portal in XHTML",
      signal(200, "<html/>", { "content-type": "Application/XHTML+XML" }),
      blocked("refused", false),
    ],
    [
      "HTML that speaks for the key",
      signal(200, "<html>", { "content-type": "text/html", ...marks }),
      { ...succeeded, speaks: true },
    ],
    ["F42 409 with Retry-After", signal(409, "", after), retry(false, { after: 7 * SECOND })],
    [
      "F42 409 with a malformed Retry-After",
      signal(409, "", { "retry-after": "soon" }),
      retry(false, { conflict: true }),
    ],
    ["F42 409 in progress", signal(409, { error: "in_progress" }), retry(false)],
    ["F42 409 as Stripe says it", signal(409, { error: { code: "idempotency_key_in_use" } }), retry(false)],
    [
      "F42 409 in progress, as a problem's type",
      signal(409, { type: "https://api.example.com/problems/in-progress" }),
      retry(false),
    ],
    ["F42 409 in progress, as a URN", signal(409, { type: "urn:problem:request_in_progress" }), retry(false)],
    ["F42 409 of another kind", signal(409, { error: "insufficient_funds" }), retry(false, { conflict: true })],
    ["400 in progress, of a request", signal(400, { code: "request_in_progress" }), retry(false)],
    ["403 in progress, of a key", signal(403, { code: "idempotency_key_in_progress" }), retry(false)],
    ["422 in progress, of a key", signal(422, { error: { code: "idempotency-key-in-use" } }), retry(false)],
    ["429 in progress, of a key", signal(429, { error: "idempotency_key_in_use" }), retry(false)],
    ["400 in progress, of whatever", signal(400, { error: "in_progress" }), refused],
    ["422 reused", signal(422, { error: "idempotency_key_reused_with_different_body" }), misused("key_reused")],
    [
      "422 reused, as a problem's type",
      signal(422, { type: "https://x.example/errors#idempotency-key-reused" }),
      misused("key_reused"),
    ],
    ["422 of another kind", signal(422, { error: "amount_too_high" }), misused("unprocessable")],
    ["422 with Retry-After", signal(422, "", after), misused("unprocessable")],
    ["410 with the key's code", signal(410, { error: "idempotency_key_expired" }), { kind: "key_expired" }],
    ["410 of another kind", signal(410, { error: "gone" }), { kind: "key_expired" }],
    ["400 with the key's time", signal(400, { error: "idempotency_key_time" }), { kind: "key_expired" }],
    ["400 with an expired key", signal(400, { code: "IDEMPOTENCY_KEY_EXPIRED" }), { kind: "key_expired" }],
    ["400 with a missing key", signal(400, { error: "idempotency_key_missing" }), misused("key_missing")],
    ["400 with an invalid key", signal(400, { error: "idempotency_key_invalid" }), misused("key_missing")],
    ["400 of another kind", signal(400, { error: "bad_amount" }), refused],
    [
      "400 with a code in plain text",
      signal(400, '{"error":"idempotency_key_time"}', { "content-type": "text/plain" }),
      refused,
    ],
    ["404 with the key's code", signal(404, { error: "idempotency_key_expired" }), refused],
    ["425 with Retry-After", signal(425, "", after), retry(true, { after: 7 * SECOND })],
    ["429 with Retry-After", signal(429, "", after), retry(true, { after: 7 * SECOND })],
    ["403", signal(403), refused],
    ["403 with Retry-After", signal(403, "", after), retry(true, { after: 7 * SECOND })],
    ["403 with nothing left", signal(403, "", { "x-ratelimit-remaining": "0" }), retry(true)],
    ["403 with nothing left of the draft's limit", signal(403, "", { ratelimit: '"default";r=0;t=30' }), retry(true)],
    [
      "403 with nothing left of the older draft's limit",
      signal(403, "", { ratelimit: "limit=9, remaining=0" }),
      retry(true),
    ],
    [
      "403 with something left",
      signal(403, "", { "x-ratelimit-remaining": "10", ratelimit: '"default";r=10' }),
      refused,
    ],
    ["408 with Retry-After", signal(408, "", after), retry(false, { after: 7 * SECOND })],
    ["423 with Retry-After", signal(423, "", after), retry(false, { after: 7 * SECOND })],
    ["503 with Retry-After", signal(503, "", after), retry(false, { after: 7 * SECOND })],
    ["503 with a key's code", signal(503, { error: "idempotency_key_reused" }), retry(false)],
    ["303", signal(303, "", { location: "/done" }), blocked("redirected", false)],
    ["401 with Retry-After", signal(401, "", after), blocked("credentials", true)],
    ["500 that speaks for the key", signal(500, "", marks), { ...refused, speaks: true }],
    ["409 that speaks for the key", signal(409, "", { ...marks, ...after }), { ...refused, speaks: true }],
    ["401 that speaks for the key", signal(401, "", marks), { ...refused, speaks: true }],
    [
      "422 reused that speaks for the key",
      signal(422, { error: "key_reused" }, marks),
      { ...misused("key_reused"), speaks: true },
    ],
  ])("%s", (_, given, verdict) => {
    expect(read(given)).toEqual(verdict);
  });

  it.each(["null", "[]", '"in_progress"', "7", "{", "", '{"error":null}', '{"error":["in_progress"]}', '{"error":7}'])(
    "a 409 with the JSON body %j has no code",
    (body) => {
      expect(read(signal(409, body, { "content-type": "application/json" }))).toEqual(retry(false, { conflict: true }));
    },
  );

  it("a refusal too large to be one is not searched for codes", () => {
    const body = { error: "in_progress", padding: " ".repeat(65_536) };
    expect(read(signal(409, body))).toEqual(retry(false, { conflict: true }));
  });
});

describe("what an operation says", () => {
  it.each<[string, Partial<AnswerRules>, Signal, object]>([
    ['conflict: "rejected", a bare 409', { conflict: "rejected" }, signal(409), refused],
    [
      'conflict: "rejected", 409 in progress',
      { conflict: "rejected" },
      signal(409, { error: "in_progress" }),
      retry(false),
    ],
    [
      'conflict: "rejected", 409 with Retry-After',
      { conflict: "rejected" },
      signal(409, "", { "retry-after": "0" }),
      retry(false, { after: 0 }),
    ],
    ['unprocessable: "rejected", a 422', { unprocessable: "rejected" }, signal(422), refused],
    [
      'unprocessable: "rejected", a 422 that speaks',
      { unprocessable: "rejected" },
      signal(422, "", marks),
      { ...refused, speaks: true },
    ],
    [
      'unprocessable: "rejected", a 422 reused',
      { unprocessable: "rejected" },
      signal(422, { error: "key_reused" }),
      misused("key_reused"),
    ],
    ["json: false, HTML", { json: false }, signal(200, "<html>", { "content-type": "text/html" }), succeeded],
  ])("%s", (_, how, given, verdict) => {
    expect(read(given, how)).toEqual(verdict);
  });

  it("a profile overrides any status, or leaves it to the table", () => {
    const verdict: Verdict = { kind: "retry", certain: true, after: 5 };
    for (const status of everyStatus) {
      expect(read(signal(status), { override: () => verdict })).toBe(verdict);
      expect(read(signal(status), { override: () => undefined })).toEqual(bare(status));
    }
  });

  it("a profile is given the answer as the table reads it", () => {
    let given: unknown;
    const override = (answer: unknown): undefined => {
      given = answer;
    };
    read(signal(503, { error: "In-Progress" }, { ...marks, "retry-after": "1" }), { override });
    expect(given).toMatchObject({ status: 503, speaks: true, codes: ["in_progress"], after: SECOND });
  });

  it("a profile is not asked about what is no answer", () => {
    const override = (): Verdict => ({ kind: "succeeded", speaks: true });
    const cut: Signal = { kind: "answer", status: 200, headers: new Headers() };
    for (const given of [
      cut,
      { kind: "thrown" },
      { kind: "unsent" },
      { kind: "opaque", redirect: false },
    ] as Signal[]) {
      expect(read(given, { override })).toMatchObject({ kind: "retry" });
    }
  });
});

describe("F36 F37 what is no answer is told by where it was thrown, never by a message", () => {
  it.each<[string, Signal, object]>([
    ["provably not sent", { kind: "unsent" }, retry(true)],
    ["thrown by fetch, or by reading the body", { kind: "thrown" }, retry(false)],
    ["an opaque response", { kind: "opaque", redirect: false }, retry(false)],
    ["an opaque redirect", { kind: "opaque", redirect: true }, blocked("redirected", false)],
  ])("%s", (_, given, verdict) => {
    expect(read(given)).toEqual(verdict);
  });

  it.each([
    "Failed to fetch",
    "Load failed",
    "The network connection was lost.",
    "fetch failed: ECONNREFUSED",
    "401 Unauthorized",
    "timeout",
  ])("the message %j changes nothing", (message) => {
    const error = Object.assign(new TypeError(message), { code: "ECONNREFUSED" });
    const withMessage = { kind: "thrown", error, message } as Signal;
    expect(read(withMessage)).toEqual(retry(false));
    expect(read(signal(500, message))).toEqual(read(signal(500)));
    expect(read(signal(400, message))).toEqual(read(signal(400)));
  });
});

describe("marks", () => {
  it.each([
    [{}, false, false],
    [{ "idempotency-status": "executed" }, true, false],
    [{ "idempotency-status": "replayed" }, true, true],
    [{ "idempotency-status": "Replayed" }, true, true],
    [{ "idempotency-replayed": "true" }, true, true],
    [{ "idempotency-replayed": "?1" }, true, true],
    [{ "idempotency-replayed": "false" }, true, false],
    [{ "idempotency-replayed": "?0" }, true, false],
    [{ "idempotency-key": "abc" }, false, false],
  ])("%j: speaks %j, replayed %j", (headers, speaks, replayed) => {
    expect(speaksForKey(new Headers(headers as Record<string, string>))).toBe(speaks);
    expect(isReplay(new Headers(headers as Record<string, string>))).toBe(replayed);
  });
});

/** §5 from signal to state: what becomes of an operation, without and with an earlier attempt in doubt. */
describe("what an answer does to the operation", () => {
  type Then = [state: string, doubtful: boolean, by?: string];
  const alive: Then = ["pending", false];
  const doubtful: Then = ["pending", true];
  const refusal: Then = ["blocked", true, "refused"];
  const settledEither = (state: string): [Then, Then] => [
    [state, false],
    [state, true],
  ];
  it.each<[string, Signal, Then, Then]>([
    ["200", signal(200), ...settledEither("succeeded")],
    ["200 cut off", { kind: "answer", status: 200, headers: new Headers() }, doubtful, doubtful],
    ["a captive portal", signal(200, "<p>", { "content-type": "text/html" }), refusal, refusal],
    ["F37 not sent", { kind: "unsent" }, alive, doubtful],
    ["F37 sent, reply lost", { kind: "thrown" }, doubtful, doubtful],
    ["F42 409 in progress", signal(409, { error: "in_progress" }), doubtful, doubtful],
    ["F42 409", signal(409), doubtful, doubtful],
    ["422", signal(422), ["misused", false], refusal],
    ["422 that speaks", signal(422, "", marks), ...settledEither("misused")],
    ["422 reused", signal(422, { error: "key_reused" }), ["blocked", false, "refused"], refusal],
    ["422 reused that speaks", signal(422, { error: "key_reused" }, marks), ...settledEither("misused")],
    ["400 with a missing key", signal(400, { error: "idempotency_key_missing" }), ["misused", false], refusal],
    ["401", signal(401), ["blocked", false, "credentials"], ["blocked", true, "credentials"]],
    ["410", signal(410), alive, ["unresolved", true]],
    ["429", signal(429), alive, doubtful],
    ["408", signal(408), doubtful, doubtful],
    ["404", signal(404), ["rejected", false], refusal],
    ["404 that speaks", signal(404, "", marks), ...settledEither("rejected")],
    ["303", signal(303), ["blocked", true, "redirected"], ["blocked", true, "redirected"]],
    ["303 that speaks", signal(303, "", marks), ...settledEither("succeeded")],
    ["501", signal(501), ["rejected", false], refusal],
    ["500", signal(500), doubtful, doubtful],
    ["500 that speaks", signal(500, "", marks), ...settledEither("rejected")],
  ])("%s", (_, given, clean, inDoubt) => {
    const verdict = read(given);
    const outcomes = [attempted(stored(), verdict), attempted(uncertain(), verdict, T0 + SECOND)].map(
      ({ state, uncertainSince, blockedBy }) => [
        state,
        uncertainSince !== undefined,
        ...(blockedBy ? [blockedBy] : []),
      ],
    );
    expect(outcomes).toEqual([clean, inDoubt]);
  });
});
