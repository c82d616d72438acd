import { describe, expect, it } from "vitest";
import { holdsIntent, type OperationRecord } from "../../../src/core/record.js";
import { transition } from "../../../src/core/transition.js";
import {
  attempted,
  cancel,
  claim,
  DAY,
  discard,
  HOUR,
  inEveryState,
  MINUTE,
  reconcile,
  response,
  retry,
  SECOND,
  type Situation,
  situations,
  started,
  stored,
  T0,
  uncertain,
  unresolvedRecord,
  unsent,
  verdicts,
} from "./machine.js";

const later = T0 + SECOND;

/** What a decision makes of a record in every situation: a state, a refusal's code, or "same" for the same object. */
function table(decide: (record: OperationRecord) => OperationRecord): Record<Situation, string> {
  const entries = situations.map((situation) => {
    const record = inEveryState[situation]();
    try {
      const after = decide(record);
      return [situation, after === record ? "same" : after.state];
    } catch (error) {
      return [situation, (error as { code: string }).code];
    }
  });
  return Object.fromEntries(entries) as Record<Situation, string>;
}

describe("retry", () => {
  it("makes what is blocked or unresolved due again, and leaves the rest as it is", () => {
    expect(table((record) => retry(record, later))).toEqual({
      pending: "pending",
      "in flight": "same",
      "pending and uncertain": "pending",
      blocked: "pending",
      "blocked and uncertain": "pending",
      "blocked, never sent": "pending",
      succeeded: "same",
      rejected: "same",
      misused: "same",
      expired: "same",
      canceled: "same",
      unresolved: "pending",
      discarded: "same",
    });
  });

  it("makes it due now, under the same key, its doubt and history kept and the refusal forgotten", () => {
    const blocked = attempted(uncertain(), verdicts.unprocessable, later, { response });
    const again = retry(blocked, later);
    expect(again).toMatchObject({ key: blocked.key, uncertainSince: T0, history: blocked.history, attempts: 2 });
    expect(again).toMatchObject({ nextAttemptAt: later, delay: 0, delivered: false });
    for (const name of ["blockedBy", "code", "response", "settledAt", "conflictSince"] as const) {
      expect(again[name]).toBeUndefined();
    }
  });

  it("of what waits ends the wait", () => {
    expect(retry(uncertain(), T0 + 1)).toMatchObject({ nextAttemptAt: T0 + 1, delay: 0 });
  });

  it("F44 is refused once the key has expired, deadline or not", () => {
    const records = [unresolvedRecord(), { ...unresolvedRecord(), deadline: T0 + MINUTE }];
    for (const record of records) {
      expect(() => retry(record, T0 + 25 * HOUR)).toThrow(
        expect.objectContaining({ code: "key_expired", id: record.id }),
      );
    }
  });

  it("F44 of what is blocked ends it, once the key has expired", () => {
    expect(retry(inEveryState["blocked and uncertain"](), T0 + DAY)).toMatchObject({
      state: "unresolved",
      code: "key_expired",
    });
  });

  it("outlives the deadline that had ended it", () => {
    const ended = claim(uncertain(T0, stored({ deadline: T0 + MINUTE })), T0 + MINUTE);
    expect(ended.code).toBe("deadline");
    const again = retry(ended, T0 + HOUR);
    expect(again).toMatchObject({ state: "pending", deadline: undefined });
    expect(started(again, T0 + HOUR).mark).toBeDefined();
  });

  it("is refused where the API does not deduplicate and something is in doubt", () => {
    const record = attempted(stored({}, { dedupes: false }), verdicts.retryUncertain);
    expect(() => retry(record, later)).toThrow(expect.objectContaining({ code: "attempts" }));
  });
});

describe("cancel", () => {
  it("is possible only while it was never sent", () => {
    expect(table((record) => cancel(record, later))).toEqual({
      pending: "canceled",
      "in flight": "already_sent",
      "pending and uncertain": "already_sent",
      blocked: "already_sent",
      "blocked and uncertain": "already_sent",
      "blocked, never sent": "canceled",
      succeeded: "already_sent",
      rejected: "already_sent",
      misused: "already_sent",
      expired: "already_sent",
      canceled: "same",
      unresolved: "already_sent",
      discarded: "already_sent",
    });
  });

  it("is possible after attempts that were provably not sent", () => {
    expect(cancel(unsent(started())).state).toBe("canceled");
    expect(cancel(unsent(started(unsent(started())))).state).toBe("canceled");
  });

  it("F12 is not possible after an attempt of the same millisecond that was sent", () => {
    const record = unsent(started(attempted(stored(), verdicts.retryCertain, T0, { delay: 0 }), T0));
    expect(() => cancel(record)).toThrow(expect.objectContaining({ code: "already_sent" }));
  });

  it("of one that expired before it was ever sent changes nothing", () => {
    const record = claim(stored({ deadline: T0 }), T0);
    expect(record.state).toBe("expired");
    expect(cancel(record)).toBe(record);
  });
});

describe("discard", () => {
  it("gives up by certainty, and never while an attempt may still arrive", () => {
    expect(table((record) => discard(record, later))).toEqual({
      pending: "expired",
      "in flight": "in_flight",
      "pending and uncertain": "unresolved",
      blocked: "expired",
      "blocked and uncertain": "unresolved",
      "blocked, never sent": "expired",
      succeeded: "already_settled",
      rejected: "same",
      misused: "same",
      expired: "same",
      canceled: "same",
      unresolved: "unresolved",
      discarded: "same",
    });
  });

  it("F12 keeps the reason and frees the intent", () => {
    const discarded = discard(unresolvedRecord(), later);
    expect(discarded).toMatchObject({
      code: "discarded",
      resolution: { how: "discarded", reason: "looked it up", at: later },
    });
    expect(holdsIntent(unresolvedRecord())).toBe(true);
    expect(holdsIntent(discarded)).toBe(false);
  });

  it("is possible once the attempt's lease is over: nobody will tell its end", () => {
    const abandoned = started();
    expect(discard(abandoned, T0 + MINUTE)).toMatchObject({
      state: "unresolved",
      code: "discarded",
      uncertainSince: T0,
    });
    const jumped = { ...abandoned, lease: { holder: "me", until: T0 + DAY, length: SECOND } };
    expect(discard(jumped, T0).state).toBe("unresolved");
  });

  it("frees the intent of one whose key the server knows from another request", () => {
    const misused = attempted(stored(), { kind: "misused", code: "key_reused", speaks: true });
    expect(holdsIntent(misused)).toBe(true);
    const discarded = discard(misused, later);
    expect(discarded).toMatchObject({ state: "misused", code: "key_reused", resolution: { how: "discarded" } });
    expect(holdsIntent(discarded)).toBe(false);
    expect(discard(discarded, later)).toBe(discarded);
  });
});

describe("reconcile", () => {
  it.each([
    ["applied", "succeeded", "already_settled", "same"],
    ["not-applied", "rejected", "same", "already_settled"],
  ] as const)(
    "%s: %s for whatever has no outcome, and refused for what has another",
    (outcome, state, failed, done) => {
      expect(table((record) => reconcile(record, outcome, later))).toEqual({
        pending: state,
        "in flight": "in_flight",
        "pending and uncertain": state,
        blocked: state,
        "blocked and uncertain": state,
        "blocked, never sent": state,
        succeeded: done,
        rejected: failed,
        misused: failed,
        expired: failed,
        canceled: failed,
        unresolved: state,
        discarded: state,
      });
      expect(reconcile(unresolvedRecord(), outcome, later).resolution).toEqual({ how: outcome, at: later });
    },
  );
});

describe("adopt", () => {
  const adopt = (record: OperationRecord, owner = "bob"): OperationRecord =>
    transition(record, { type: "adopt", owner });

  it.each(situations)("of one that is %s", (situation) => {
    const record = inEveryState[situation]();
    if (situation === "in flight") {
      expect(() => adopt(record)).toThrow(expect.objectContaining({ code: "in_flight" }));
    } else {
      expect(adopt(record)).toEqual({ ...record, owner: "bob" });
      expect(adopt(record, record.owner)).toBe(record);
    }
  });
});

describe("a decision", () => {
  it.each<[string, (record: OperationRecord, hook: boolean) => OperationRecord]>([
    ["cancel", (record, hook) => cancel(record, later, hook)],
    ["discard", (record, hook) => discard(record, later, hook)],
    ["reconcile", (record, hook) => reconcile(record, "applied", later, hook)],
  ])("to %s is owed to the hook, if there is one", (_, decide) => {
    expect(decide(stored(), false)).toMatchObject({ delivered: true, settledAt: later });
    expect(decide(stored(), true)).toMatchObject({ delivered: false, nextAttemptAt: later, delay: 0 });
  });
});
