import { describe, expect, it } from "vitest";
import type { Observation, ProbeName } from "../../../../src/cli/doctor/observation.js";
import { BURST, MOST_WRITES, type Probe, readingPlan, writingPlan } from "../../../../src/cli/doctor/plan.js";
import { answered, asked, NOW, problem, seenOf, target, unanswered } from "./kit.js";

const keys = ["first-key", "burst-key"] as const;
const writing = () => writingPlan(target(), keys, () => NOW);
const kept = (name: ProbeName): Observation => seenOf().get(name)?.[0] ?? unanswered;

function probesOf(plan: ReturnType<typeof readingPlan>, answer = kept): Probe[] {
  const probes: Probe[] = [];
  for (let step = plan.next(); !step.done; step = plan.next(step.value.probes.map(({ name }) => answer(name)))) {
    probes.push(...step.value.probes);
  }
  return probes;
}

describe("what is read-only", () => {
  it("is the published contract, of the same origin", () => {
    const [published, ...more] = probesOf(readingPlan(target()));
    expect(published).toMatchObject({ method: "GET", url: new URL("https://api.example.com/.well-known/idempotency") });
    expect(more).toEqual([]);
  });

  it("is a preflight as a browser sends it, where there is an origin", () => {
    const options = { origin: "https://shop.example.com", header: ["X-Tenant: 1", "accept: */*"] };
    const [, preflight] = probesOf(readingPlan(target(options)));
    expect(preflight?.headers).toEqual({
      origin: "https://shop.example.com",
      "access-control-request-method": "POST",
      "access-control-request-headers": "content-type,idempotency-key,x-tenant",
    });
  });

  it("bears no header of the caller's", () => {
    const options = { origin: "https://shop.example.com", header: ["authorization: Bearer secret"] };
    expect(JSON.stringify(probesOf(readingPlan(target(options))))).not.toContain("secret");
  });

  it.each(["https://api.example.com", undefined])("leaves the preflight out for %s", (origin) => {
    expect(probesOf(readingPlan(target({ ...(origin && { origin }) })))).toHaveLength(1);
  });
});

describe("what writes", () => {
  it("asks for everything where the contract is kept", () => {
    expect(asked(writing(), kept)).toEqual([
      ...["first", "repeat", "without-key"],
      ...Array.from({ length: BURST }, () => "burst"),
      ...["after-burst", "later", "other-form", "other-body"],
    ]);
  });

  it("uses one key for all but the burst, and none where it says so", () => {
    const keyOf = ({ headers }: Probe) => headers["Idempotency-Key"];
    const probes = probesOf(writing());
    const under = (key: string | undefined) => [
      ...new Set(probes.filter((one) => keyOf(one) === key).map((one) => one.name)),
    ];
    expect(under("first-key")).toEqual(["first", "repeat", "later", "other-body"]);
    expect(under('"first-key"')).toEqual(["other-form"]);
    expect(under("burst-key")).toEqual(["burst", "after-burst"]);
    expect(under(undefined)).toEqual(["without-key"]);
  });

  it("goes on with quoted keys where bare ones are refused", () => {
    const probes = probesOf(writing(), (name) =>
      name === "first" ? answered(400) : kept(name === "quoted-first" ? "first" : name),
    );
    expect(probes[1]).toMatchObject({ name: "quoted-first", headers: { "Idempotency-Key": '"first-key"' } });
    expect(probes[2]).toMatchObject({ name: "repeat", headers: { "Idempotency-Key": '"first-key"' } });
  });

  it.each<[string, Observation, ProbeName[]]>([
    ["no answer", unanswered, ["first"]],
    ["a redirect", answered(307), ["first"]],
    ["a refusal in front of the key", answered(401), ["first"]],
    ["a failure", answered(500), ["first"]],
    ["a refusal of the key in either form", answered(400), ["first", "quoted-first"]],
  ])("ends after %s", (_, answer, names) => {
    expect(asked(writing(), () => answer)).toEqual(names);
  });

  it("ends at a repeat that was answered as something new", () => {
    expect(asked(writing(), (name, nth) => answered(201, { name, nth }))).toEqual(["first", "repeat"]);
  });

  it.each<ProbeName>(["repeat", "without-key", "burst", "after-burst", "later", "other-form"])(
    "ends where %s gets no answer",
    (silent) => {
      const names = asked(writing(), (name) => (name === silent ? unanswered : kept(name)));
      expect(names.at(-1)).toBe(silent);
    },
  );

  it("asks a key that is in progress a few times, and never more than it said", () => {
    const busy = problem(409, "in_progress", { "retry-after": "86400" });
    const names = asked(writing(), (name, nth) => {
      if (name === "first") return answered(400);
      if (name === "quoted-first") return kept("first");
      return (name === "repeat" && nth < 3) || name === "after-burst" ? busy : kept(name);
    });
    expect(names).toHaveLength(MOST_WRITES);
  });

  it("waits as long as the server asks between those, within bounds", () => {
    const plan = writing();
    plan.next();
    plan.next([kept("first")]);
    const waits = ["1", "0"].map((after) => {
      const step = plan.next([problem(409, "in_progress", { "retry-after": after })]);
      return step.done ? undefined : step.value.pause;
    });
    expect(waits).toEqual([1000, 200]);
  });

  it("leaves the other body out where there is none", () => {
    const bodiless = { ...target(), body: undefined, otherBody: undefined };
    expect(
      asked(
        writingPlan(bodiless, keys, () => NOW),
        kept,
      ),
    ).not.toContain("other-body");
  });
});
