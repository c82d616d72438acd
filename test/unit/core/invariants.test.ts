import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Verdict } from "../../../src/core/classify.js";
import {
  holdsIntent,
  isUncertain,
  needsSync,
  type OperationRecord,
  scheduleOf,
  windowMargin,
} from "../../../src/core/record.js";
import { type OperationEvent, transition } from "../../../src/core/transition.js";
import { HOUR, MINUTE, SECOND, stored, T0, verdicts } from "./machine.js";

/** One thing that happens: what, how much later, and the particulars that apply to it. */
interface Step {
  readonly type: OperationEvent["type"];
  readonly later: number;
  readonly verdict: Verdict;
  readonly delay: number;
  readonly maxAttempts: number;
  readonly hook: boolean;
  /** How many claims ago the attempt that speaks now was claimed. */
  readonly stale: number;
  readonly outcome: "applied" | "not-applied";
}

const types: OperationEvent["type"][] = [
  ...["claim", "begin", "claim", "begin", "answer", "answer", "unsent", "extend", "postpone"],
  ...["retry", "cancel", "discard", "reconcile", "adopt", "deliver"],
] as OperationEvent["type"][];

const steps = fc.array(
  fc.record<Step>({
    type: fc.constantFrom(...types),
    later: fc.oneof(fc.constantFrom(0, 1, SECOND, 31 * SECOND, HOUR), fc.integer({ min: 0, max: 12 * HOUR })),
    verdict: fc.oneof(
      fc.constantFrom<Verdict[]>(...Object.values(verdicts)),
      fc.record<Verdict & { kind: "retry" }>({
        kind: fc.constant("retry" as const),
        certain: fc.boolean(),
        after: fc.integer({ min: 0, max: 30 * HOUR }),
      }),
    ),
    delay: fc.integer({ min: 0, max: 15 * MINUTE }),
    maxAttempts: fc.constantFrom(1, 3, Number.POSITIVE_INFINITY),
    hook: fc.boolean(),
    stale: fc.constantFrom(0, 0, 0, 1, 2),
    outcome: fc.constantFrom("applied" as const, "not-applied" as const),
  }),
  { minLength: 1, maxLength: 40 },
);

const records = fc
  .record({
    mint: fc.constantFrom("v7" as const, "v4" as const, "never" as const),
    dedupes: fc.constantFrom(true, true, true, false),
    retention: fc.constantFrom(10 * MINUTE, 24 * HOUR),
    deadline: fc.option(fc.integer({ min: 0, max: 48 * HOUR }), { nil: undefined }),
  })
  .map(({ deadline, ...wire }) => stored({ deadline: deadline && T0 + deadline }, wire));

function eventOf(record: OperationRecord, step: Step, at: number, minted: () => string): OperationEvent {
  const { type, verdict, delay, maxAttempts, hook, outcome } = step;
  const fence = record.fence - step.stale;
  const mint = (): string => minted();
  const entry = { at: record.mark?.at ?? at, ms: 0, verdict: verdict.kind };
  const asked = verdict.kind === "retry" ? (verdict.after ?? 0) : 0;
  const all = {
    at,
    fence,
    hook,
    entry,
    maxAttempts,
    mint,
    verdict,
    delay: Math.max(delay, asked),
    length: 30 * SECOND,
  };
  const more = { holder: "me", patience: MINUTE, reason: "because", outcome, owner: "ada", delivered: undefined };
  return { type, ...all, ...more } as OperationEvent;
}

/** Whether a store would let this happen: it hands out what is due, free and not held. */
function isPossible(record: OperationRecord, { type }: Step, at: number): boolean {
  if (type !== "claim") return true;
  const { lease } = record;
  const schedule = scheduleOf(record);
  return schedule !== undefined && schedule.due <= at && !(lease && lease.until > at);
}

interface Move {
  readonly before: OperationRecord;
  readonly after: OperationRecord;
  readonly step: Step;
  readonly at: number;
}

/** Plays the steps, and holds every move to the check. */
function play(
  start: OperationRecord,
  script: readonly Step[],
  check: (move: Move, past: readonly Move[]) => void,
): void {
  let record = start;
  let at = T0;
  let keys = 0;
  const past: Move[] = [];
  for (const step of script) {
    at += step.later;
    if (!isPossible(record, step, at)) continue;
    let after = record;
    try {
      after = transition(
        record,
        eventOf(record, step, at, () => `key-${++keys}`),
      );
    } catch {
      // Refused: nothing changes.
    }
    const move = { before: record, after, step, at };
    check(move, past);
    past.push(move);
    record = after;
  }
}

function always(check: (move: Move, past: readonly Move[]) => void): void {
  fc.assert(
    fc.property(records, steps, (record, script) => play(record, script, check)),
    { numRuns: 400 },
  );
}

const frozen = <T extends object>(value: T): T => {
  for (const member of Object.values(value))
    if (typeof member === "object" && member !== null) frozen(member as object);
  return ArrayBuffer.isView(value) || value instanceof ArrayBuffer ? value : Object.freeze(value);
};

describe("whatever happens, in whatever order", () => {
  it("I3 there is no second key while the first may have been applied", () => {
    always(({ before, after }) => {
      if (after.key === before.key) return;
      expect(before.uncertainSince).toBeUndefined();
      expect(before.wire.mint).not.toBe("never");
      expect(after.wire.value).toBe(after.key);
    });
  });

  it("I3 an unknown outcome holds its intent until a person resolves it or the server speaks", () => {
    always(({ before, after, step }) => {
      if (!isUncertain(before) || !holdsIntent(before) || holdsIntent(after)) return;
      const byPerson = step.type === "discard" || step.type === "reconcile";
      const spoke = step.type === "answer" && "speaks" in step.verdict && step.verdict.speaks;
      const resolvedNow = step.type === "answer" && before.uncertainSince === undefined;
      expect(byPerson || spoke || resolvedNow || step.type === "unsent").toBe(true);
    });
  });

  it("I5 what may have been applied is never called refused, but by a speaking answer or a person", () => {
    always(({ before, after, step }) => {
      const refused = ["rejected", "misused", "expired", "canceled"];
      if (before.uncertainSince === undefined || refused.includes(before.state) || !refused.includes(after.state))
        return;
      const spoke = step.type === "answer" && "speaks" in step.verdict && step.verdict.speaks;
      expect(spoke || step.type === "reconcile").toBe(true);
    });
  });

  it("I5 doubt is sticky: it is never unset, and never moves forward", () => {
    always(({ before, after }) => {
      if (before.uncertainSince !== undefined) expect(after.uncertainSince).toBeLessThanOrEqual(before.uncertainSince);
    });
  });

  it("I5 a mark ends as unsent, as a certain answer, as a settled record, or as doubt", () => {
    always(({ before, after, step }) => {
      if (!before.mark || after.mark) return;
      const certain =
        step.type === "answer" && (!("certain" in step.verdict) || step.verdict.certain) && step.stale === 0;
      const settled = ["succeeded", "rejected", "misused"].includes(after.state);
      expect(step.type === "unsent" || certain || settled || after.uncertainSince !== undefined).toBe(true);
    });
  });

  it("I6 no attempt begins later than the window after the first that may have been applied", () => {
    always(({ before, after, at }) => {
      if (after.mark === undefined || after.mark === before.mark || after.uncertainSince === undefined) return;
      const { retention } = after.wire;
      expect(at - after.uncertainSince).toBeLessThan(retention - windowMargin(retention));
    });
  });

  it("I6 nor under a caller's own key later than the window after the first that was sent", () => {
    always(({ before, after, at }) => {
      if (after.mark === undefined || after.mark === before.mark || after.wire.mint !== "never") return;
      const { retention } = after.wire;
      expect(at - (after.sentAt ?? at)).toBeLessThan(retention - windowMargin(retention));
    });
  });

  it("an attempt begins only under a lease, in one that is pending and before its deadline", () => {
    always(({ before, after, at }) => {
      if (after.mark === undefined || after.mark === before.mark) return;
      expect(after).toMatchObject({ state: "pending", attempts: before.attempts + 1 });
      expect(after.lease).toBeDefined();
      expect(at).toBeLessThan(after.deadline ?? Number.POSITIVE_INFINITY);
      expect(after.wire.dedupes || after.uncertainSince === undefined).toBe(true);
    });
  });

  it("the fence never falls, and rises with every lease that is taken", () => {
    always(({ before, after, step }) => {
      expect(after.fence).toBe(
        before.fence + (step.type === "claim" && after.lease !== undefined && after !== before ? 1 : 0),
      );
    });
  });

  it("every step from never sent, or certain, to may-have-been-sent is synced", () => {
    always(({ before, after }) => {
      if (!isUncertain(before) && isUncertain(after)) expect(needsSync(before, after)).toBe(true);
    });
  });

  it("every end but success is synced", () => {
    always(({ before, after }) => {
      const ends = ["rejected", "misused", "expired", "canceled", "unresolved"];
      if (after.state !== before.state && ends.includes(after.state)) expect(needsSync(before, after)).toBe(true);
    });
  });

  it("nothing is canceled after it was sent", () => {
    always(({ before, after }, past) => {
      if (after.state !== "canceled" || before.state === "canceled") return;
      const sent = past.some(({ step, before: was, after: is }) => step.type === "answer" && was.mark && !is.mark);
      expect(sent).toBe(false);
    });
  });

  it("only what is settled or unresolved is delivered, and an end that a hook is owed is due", () => {
    always(({ before, after, at, step }) => {
      const ended = after.state !== "pending" && after.state !== "blocked";
      if (after.delivered && !before.delivered) expect(ended).toBe(true);
      if (ended && after.state !== before.state && step.hook) {
        expect(after.delivered).toBe(false);
        expect(scheduleOf(after)?.due).toBeLessThanOrEqual(at + 30 * SECOND);
      }
    });
  });

  it("request, identity and owner stay, and no event touches the record that it is given", () => {
    fc.assert(
      fc.property(records, steps, (record, script) => {
        play(frozen(record), script, ({ before, after }) => {
          frozen(after);
          for (const name of [
            "id",
            "request",
            "owner",
            "intent",
            "name",
            "origin",
            "createdAt",
            "seq",
            "rev",
          ] as const) {
            expect(after[name]).toBe(before[name]);
          }
        });
      }),
      { numRuns: 100 },
    );
  });

  it("times are whole milliseconds", () => {
    always(({ after }) => {
      const schedule = scheduleOf(after);
      for (const time of [after.nextAttemptAt, after.delay, schedule?.due ?? 0])
        expect(Number.isSafeInteger(time)).toBe(true);
      expect(after.delay).toBeGreaterThanOrEqual(0);
    });
  });
});
