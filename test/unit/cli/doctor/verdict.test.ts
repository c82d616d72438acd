import { describe, expect, it } from "vitest";
import { advise } from "../../../../src/cli/doctor/advice.js";
import type { CheckName, CheckResult } from "../../../../src/cli/doctor/check.js";
import type { Observation, Seen } from "../../../../src/cli/doctor/observation.js";
import { render } from "../../../../src/cli/doctor/report.js";
import { conclude, judge } from "../../../../src/cli/doctor/verdict.js";
import { answered, executed, NOW, problem, replayed, seenOf, target, unanswered, unmarked } from "./kit.js";

const origin = "https://shop.example.com";
const open = { "access-control-allow-origin": origin };
const contract = { header: "idempotency-key", retention: 86_400, statuses: { reused: 422 } };
const published = (document: unknown): Seen => seenOf({ published: [answered(200, document)] });
const preflight = (headers: Record<string, string>, status = 204): Seen =>
  seenOf({ preflight: [answered(status, "", headers)] });
const everywhere = (headers: Record<string, string>): Seen => {
  const add = (one: Observation): Observation =>
    one.kind === "failed" ? one : { ...one, headers: { get: (name) => headers[name] ?? one.headers.get(name) } };
  return new Map([...seenOf()].map(([name, all]) => [name, all.map(add)]));
};
const ok = answered(200, { ok: true });

const cases: readonly (readonly [CheckName, string, Seen, CheckResult, RegExp])[] = [
  ["dedupes", "a marked replay", seenOf(), "kept", /mark says/],
  ["dedupes", "one key, one answer", unmarked(), "kept", /another key another/],
  ["dedupes", "another answer", unmarked({ repeat: [answered(201, { id: 2 })] }), "broken", /does not deduplicate/],
  [
    "dedupes",
    "another Location",
    unmarked({ repeat: [answered(201, { id: 1 }, { location: "/2" })] }),
    "broken",
    /not dedup/,
  ],
  [
    "dedupes",
    "a repeat that is marked executed",
    seenOf({ repeat: [answered(201, { id: 1 }, executed)] }),
    "broken",
    /own mark/,
  ],
  [
    "dedupes",
    "a later repeat that is executed",
    seenOf({ later: [answered(201, { id: 3 }, executed)] }),
    "broken",
    /own mark/,
  ],
  [
    "dedupes",
    "a later repeat with another answer",
    unmarked({ later: [answered(201, { id: 9 })] }),
    "broken",
    /for long/,
  ],
  ["dedupes", "a new key that is replayed", seenOf({ first: [answered(201, "", replayed)] }), "broken", /new key/],
  [
    "dedupes",
    "one answer for all keys",
    unmarked({ first: [ok], repeat: [ok], burst: [ok], later: [ok] }),
    "not-seen",
    /every key/,
  ],
  ["dedupes", "a repeat that is refused", unmarked({ repeat: [answered(409)] }), "not-seen", /409/],
  ["dedupes", "a repeat that failed", unmarked({ repeat: [answered(503)] }), "not-seen", /503/],
  ["dedupes", "no answer", seenOf({ first: [unanswered], repeat: undefined }), "not-seen", /may have been carried out/],
  ["dedupes", "nothing", new Map(), "not-seen", /nothing was sent/],

  ["replay", "the same", seenOf(), "kept", /byte for byte/],
  ["replay", "other bytes", seenOf({ repeat: [answered(201, '{"id": 1}', replayed)] }), "broken", /body/],
  ["replay", "another status", seenOf({ later: [answered(200, { id: 1 }, replayed)] }), "broken", /200.*201/],
  [
    "replay",
    "other bytes after the burst",
    seenOf({ "after-burst": [answered(201, { id: 9 }, replayed)] }),
    "broken",
    /body/,
  ],
  ["replay-headers", "the same", seenOf(), "kept", /headers/],
  [
    "replay-headers",
    "another type",
    seenOf({ repeat: [answered(201, { id: 1 }, { "content-type": "x/y" })] }),
    "broken",
    /type/,
  ],
  [
    "replay-headers",
    "another ETag",
    seenOf({ repeat: [answered(201, { id: 1 }, { etag: '"2"' })] }),
    "differs",
    /etag/,
  ],

  ["marks", "on all", seenOf(), "kept", /final/],
  ["marks", "on none", unmarked(), "differs", /no answer is marked/],
  ["marks", "on some", seenOf({ later: [answered(201, { id: 1 })] }), "differs", /some/],
  ["marks", "on a refusal", seenOf({ "other-body": [problem(422, "x", replayed)] }), "broken", /no operation/],

  ["at-once", "one and 409", seenOf(), "kept", /409/],
  ["at-once", "one answer for all", unmarked(), "kept", /wait/],
  [
    "at-once",
    "two answers",
    unmarked({ burst: [answered(201, { id: 2 }), answered(201, { id: 3 })] }),
    "broken",
    /more than once/,
  ],
  [
    "at-once",
    "two that are marked executed",
    seenOf({ burst: [answered(200, "", executed), answered(200, "", executed)] }),
    "broken",
    /more than once/,
  ],
  ["at-once", "an answer none got", unmarked({ "after-burst": [answered(201, { id: 4 })] }), "broken", /none of them/],
  [
    "at-once",
    "a bare 409",
    seenOf({ burst: [answered(201, { id: 2 }, executed), answered(409)] }),
    "differs",
    /neither/,
  ],
  ["at-once", "failures", unmarked({ burst: [answered(201, { id: 2 }), answered(500)] }), "differs", /500/],
  [
    "at-once",
    "one without an answer",
    unmarked({ burst: [answered(201, { id: 2 }), unanswered] }),
    "not-seen",
    /burst/,
  ],

  [
    "at-once",
    "one answer for all keys",
    unmarked({ first: [ok], burst: [ok, ok], "after-burst": [ok] }),
    "not-seen",
    /every key/,
  ],
  ["retry-after", "none called for", unmarked(), "not-seen", /no answer called/],
  ["retry-after", "seconds", seenOf(), "kept", /409/],
  [
    "retry-after",
    "a date",
    seenOf({ burst: [answered(409, "", { "retry-after": "Thu, 01 Jan 2026 00:00:05 GMT" })] }),
    "kept",
    /409/,
  ],
  ["retry-after", "neither", seenOf({ burst: [answered(409, "", { "retry-after": "1.5" })] }), "differs", /"1\.5"/],
  ["retry-after", "missing", seenOf({ burst: [problem(409, "in_progress")] }), "differs", /without/],

  ["other-body", "422 with a code", seenOf(), "kept", /code/],
  ["other-body", "422 alone", seenOf({ "other-body": [answered(422)] }), "kept", /\(422\)/],
  ["other-body", "400", seenOf({ "other-body": [answered(400)] }), "differs", /400/],
  ["other-body", "the first answer", unmarked({ "other-body": [answered(201, { id: 1 })] }), "broken", /first one/],
  ["other-body", "its own answer", unmarked({ "other-body": [answered(201, { id: 5 })] }), "broken", /carried out/],
  ["other-body", "a failure", seenOf({ "other-body": [answered(502)] }), "not-seen", /502/],

  ["without-key", "400 with a code", seenOf(), "kept", /code/],
  ["without-key", "400 alone", seenOf({ "without-key": [answered(400)] }), "kept", /\(400\)/],
  ["without-key", "a success", seenOf({ "without-key": [answered(201)] }), "differs", /not protected/],
  ["without-key", "428", seenOf({ "without-key": [answered(428)] }), "differs", /428/],

  ["quoting", "the same", seenOf(), "kept", /same/],
  ["quoting", "the same, unmarked", unmarked(), "kept", /same/],
  ["quoting", "executed", seenOf({ "other-form": [answered(201, { id: 3 }, executed)] }), "differs", /two keys/],
  ["quoting", "another answer", unmarked({ "other-form": [answered(201, { id: 3 })] }), "differs", /two keys/],
  [
    "quoting",
    "one answer for all",
    unmarked({ first: [ok], burst: [ok], "other-form": [ok] }),
    "not-seen",
    /every key/,
  ],
  ["quoting", "a refusal", seenOf({ "other-form": [answered(400)] }), "differs", /bare/],
  [
    "quoting",
    "a refusal of bare keys",
    seenOf({ "quoted-first": [answered(201, { id: 1 }, executed)] }),
    "differs",
    /IETF/,
  ],

  ["problems", "problems", seenOf(), "kept", /9457/],
  [
    "problems",
    "HTML",
    seenOf({ "other-body": [answered(422, "<p>", { "content-type": "text/html" })] }),
    "differs",
    /text\/html/,
  ],
  [
    "problems",
    "the type alone",
    seenOf({ "other-body": [answered(422, "<p>", { "content-type": "application/problem+json" })] }),
    "differs",
    /problem/,
  ],

  ["published", "nothing", seenOf(), "not-seen", /404/],
  ["published", "a contract", published(contract), "kept", /86400 s/],
  ["published", "no contract", published({ retention: "1d" }), "broken", /no contract/],
  ["published", "another header", published({ ...contract, header: "X-Key" }), "differs", /--key-header/],
  [
    "published",
    "another status",
    published({ ...contract, statuses: { reused: 409 } }),
    "broken",
    /reused is 422, not 409/,
  ],

  [
    "published",
    "a server that is busy",
    seenOf({ published: [answered(200, contract)], "other-body": [answered(429)] }),
    "kept",
    /86400/,
  ],
  [
    "preflight",
    "all",
    preflight({ ...open, "access-control-allow-headers": "Content-Type, Idempotency-Key" }),
    "kept",
    /may send/,
  ],
  ["preflight", "a star", preflight({ ...open, "access-control-allow-headers": "*" }), "kept", /may send/],
  [
    "preflight",
    "no key",
    preflight({ ...open, "access-control-allow-headers": "content-type" }),
    "broken",
    /idempotency-key/,
  ],
  [
    "preflight",
    "another origin",
    preflight({ "access-control-allow-origin": "https://other.example" }),
    "broken",
    /not let in/,
  ],
  ["preflight", "a refusal", preflight({}, 405), "broken", /405/],
  ["exposed", "nothing", seenOf(), "broken", /let/],
  ["exposed", "hidden marks", everywhere(open), "differs", /idempotency-status, retry-after/],
  [
    "exposed",
    "all",
    everywhere({ ...open, "access-control-expose-headers": "Idempotency-Status, Retry-After" }),
    "kept",
    /can read/,
  ],
];

describe("a part of the contract", () => {
  it.each(cases)("%s, shown %s", (name, _, seen, result, detail) => {
    const check = judge(seen, target({ origin }), NOW).find((one) => one.name === name);
    expect(check).toMatchObject({ result, detail: expect.stringMatching(detail) });
  });

  it("shows nothing about white space, where that is all that another body differs in", () => {
    const seen = unmarked({ "other-body": [answered(201, { id: 1 })] });
    const check = judge(seen, target({ body: "[1]" }), NOW).find(({ name }) => name === "other-body");
    expect(check).toMatchObject({ result: "not-seen", detail: expect.stringContaining("--other-body") });
  });

  it("wants leave for authorization by name, which a star does not give", () => {
    const seen = preflight({ ...open, "access-control-allow-headers": "*" });
    const checks = judge(seen, target({ origin, header: ["authorization: x"] }), NOW);
    expect(checks.find(({ name }) => name === "preflight")).toMatchObject({ result: "broken" });
  });
});

describe("the conclusion", () => {
  it.each<[string, Seen, string]>([
    ["kept", seenOf(), "kept"],
    ["kept without marks", unmarked(), "kept"],
    ["broken by one part", seenOf({ "other-body": [answered(201, "", replayed)] }), "broken"],
    ["open where nothing was sent", new Map(), "inconclusive"],
    ["open where nobody came at once", seenOf({ burst: undefined, "after-burst": undefined }), "inconclusive"],
  ])("is %s", (_, seen, conclusion) => {
    expect(conclude(judge(seen, target(), NOW))).toBe(conclusion);
  });
});

describe("the options that follow", () => {
  const codes = (seen: Seen, options: Parameters<typeof target>[0] = {}) =>
    advise(seen, judge(seen, target(options), NOW), target(options)).map(({ code }) => code);

  it.each<[string, string[], string[]]>([
    ["the published retention", codes(published(contract)), ['retention: "24h"', "discover: true"]],
    [
      "one that is no whole hours",
      codes(published({ ...contract, retention: 5400.7 })),
      ['retention: "5400s"', "discover: true"],
    ],
    ["a retention to be looked up", codes(seenOf()), ['retention: "…"']],
    [
      "the IETF's quotes",
      codes(seenOf({ "quoted-first": [answered(201, { id: 1 }, executed)] })),
      ['retention: "…"', "profile: ietf"],
    ],
    [
      "another header, and no repeats",
      codes(unmarked({ repeat: [answered(201, { id: 2 })] }), { keyHeader: "X-Key" }),
      ['retention: "…"', 'profile: { name: "api.example.com", header: "X-Key", dedupes: false }'],
    ],
    ["nothing about a server that was not asked", codes(new Map()), ['retention: "…"']],
  ])("have %s", (_, found, wanted) => {
    expect(found).toEqual(wanted);
  });
});

it("prints no control character that a server sent", () => {
  const seen = seenOf({ burst: [answered(409, "", { "retry-after": "\u001b[2J\u009b1m" })] });
  const checks = judge(seen, target(), NOW);
  const report = {
    v: 1,
    url: "u",
    method: "POST",
    conclusion: conclude(checks),
    wrote: true,
    requests: 1,
    checks,
  } as const;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
  expect(render({ ...report, options: [] })).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
});
