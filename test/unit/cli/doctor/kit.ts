import type { Answered, Failed, Observation, ProbeName, Seen } from "../../../../src/cli/doctor/observation.js";
import type { Plan } from "../../../../src/cli/doctor/plan.js";
import { type DoctorOptions, resolveTarget, type Target } from "../../../../src/cli/doctor/target.js";

export const NOW: number = Date.UTC(2026, 0, 1);

export const target = (options: Partial<DoctorOptions> = {}, url = "https://api.example.com/transfers"): Target =>
  resolveTarget(url, {
    method: "POST",
    body: '{"amount":1}',
    keyHeader: "Idempotency-Key",
    timeout: "10s",
    ...options,
  });

export function answered(status: number, body: unknown = "", headers: Record<string, string> = {}): Answered {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return {
    kind: "answered",
    status,
    headers: { get: (name) => headers[name] ?? null },
    body: new TextEncoder().encode(text),
    whole: true,
  };
}

export const unanswered: Failed = { kind: "failed", how: "unanswered", cause: "no answer within 10000 ms" };
export const executed = { "idempotency-status": "executed" };
export const replayed = { "idempotency-status": "replayed" };

export const problem = (status: number, error: string, headers: Record<string, string> = {}): Answered =>
  answered(status, { error }, { "content-type": "application/problem+json", ...headers });

/** What a server that keeps the contract shows, but for what is said. */
export function seenOf(changed: Partial<Record<ProbeName, readonly Observation[] | undefined>> = {}): Seen {
  const kept: Partial<Record<ProbeName, readonly Observation[] | undefined>> = {
    published: [answered(404)],
    first: [answered(201, { id: 1 }, executed)],
    repeat: [answered(201, { id: 1 }, replayed)],
    "without-key": [problem(400, "idempotency_key_missing")],
    burst: [answered(201, { id: 2 }, executed), problem(409, "in_progress", { "retry-after": "1" })],
    "after-burst": [answered(201, { id: 2 }, replayed)],
    later: [answered(201, { id: 1 }, replayed)],
    "other-form": [answered(201, { id: 1 }, replayed)],
    "other-body": [problem(422, "idempotency_key_reused_with_different_body")],
    ...changed,
  };
  const told = Object.entries(kept).filter(
    (entry): entry is [ProbeName, readonly Observation[]] => entry[1] !== undefined,
  );
  return new Map(told);
}

/** Where no answer bears a mark. */
export function unmarked(changed: Parameters<typeof seenOf>[0] = {}): Seen {
  return seenOf({
    first: [answered(201, { id: 1 })],
    repeat: [answered(201, { id: 1 })],
    burst: [answered(201, { id: 2 }), answered(201, { id: 2 })],
    "after-burst": [answered(201, { id: 2 })],
    later: [answered(201, { id: 1 })],
    "other-form": [answered(201, { id: 1 })],
    ...changed,
  });
}

/** The names of what a plan asks for, where everything is answered by `answer`. */
export function asked(plan: Plan, answer: (name: ProbeName, nth: number) => Observation): ProbeName[] {
  const names: ProbeName[] = [];
  for (let step = plan.next(); !step.done; ) {
    step = plan.next(
      step.value.probes.map(({ name }) => {
        names.push(name);
        return answer(name, names.filter((one) => one === name).length);
      }),
    );
  }
  return names;
}
