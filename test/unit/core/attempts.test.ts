import { describe, expect, it } from "vitest";
import type { Verdict } from "../../../src/core/classify.js";
import type { OperationRecord } from "../../../src/core/record.js";
import { transition } from "../../../src/core/transition.js";
import {
  answer,
  attempted,
  begin,
  claim,
  discard,
  entryAt,
  HOUR,
  inEveryState,
  MINUTE,
  reconcile,
  response,
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

describe("a claim", () => {
  it("takes a lease of its length and raises the fence", () => {
    const claimed = claim(stored({ fence: 4 }), later, { holder: "tab", length: 5 });
    expect(claimed).toMatchObject({ fence: 5, lease: { holder: "tab", until: later + 5, length: 5 } });
  });

  it("of a record with a mark finds an attempt that may have been applied", () => {
    const claimed = claim(started(), T0 + MINUTE);
    expect(claimed).toMatchObject({ mark: undefined, uncertainSince: T0, state: "pending" });
    expect(claimed.history.at(-1)).toEqual({ at: T0, ms: 0, verdict: "abandoned" });
  });

  it("keeps the first doubt", () => {
    const again = started(uncertain(T0), T0 + MINUTE);
    expect(claim(again, T0 + 2 * MINUTE).uncertainSince).toBe(T0);
  });

  it.each<[Situation, boolean, boolean]>([
    ["pending", true, true],
    ["pending and uncertain", true, true],
    ["blocked", false, false],
    ["blocked, never sent", false, false],
    ["succeeded", true, false],
    ["rejected", true, false],
    ["misused", true, false],
    ["expired", true, false],
    ["canceled", true, false],
    ["unresolved", true, false],
    ["discarded", true, false],
  ])("of one that is %s takes it while undelivered: %j, once delivered: %j", (situation, undelivered, delivered) => {
    const record = inEveryState[situation]();
    expect(claim({ ...record, delivered: false }, later).lease !== undefined).toBe(undelivered);
    expect(claim({ ...record, delivered: true }, later).lease !== undefined).toBe(delivered);
  });

  it("of one that needs nothing changes nothing, not even the object", () => {
    for (const situation of ["blocked", "succeeded", "unresolved"] as const) {
      const record = inEveryState[situation]();
      expect(claim(record, later)).toBe(record);
    }
  });
});

describe("the beginning of an attempt", () => {
  it.each(situations)("of one that is %s, without a lease, is illegal", (situation) => {
    const record = { ...inEveryState[situation](), lease: undefined };
    expect(() => begin(record, later)).toThrow(`illegal transition: begin of a record in state ${record.state}`);
  });

  it.each(situations.filter((situation) => inEveryState[situation]().state !== "pending"))(
    "of one that is %s is illegal, lease or not",
    (situation) => {
      const lease = { holder: "me", until: T0 + HOUR, length: HOUR };
      expect(() => begin({ ...inEveryState[situation](), lease }, later)).toThrow("illegal transition");
    },
  );

  it("under a mark is illegal: at most one attempt is under way", () => {
    expect(() => begin(started(), later)).toThrow("illegal transition");
  });

  it("marks the record, counts the attempt and binds the key", () => {
    const record = stored();
    const begun = begin(claim(record, later), later);
    expect(begun).toMatchObject({
      attempts: 1,
      mark: { at: later, attempt: 1, first: true },
      sentAt: later,
      key: record.key,
    });
    const second = started(attempted(record, verdicts.retryCertain), later);
    expect(second).toMatchObject({ attempts: 2, mark: { at: later, attempt: 2, first: false }, sentAt: T0 });
  });

  it("notes the server's clock at the first sending of its key, counted back by ours where it was learnt later", () => {
    const first = begin(claim(stored()), T0, { serverAt: 1000 });
    expect(first.serverSince).toBe(1000);
    const certain = answer(first, verdicts.retryCertain);
    expect(begin(claim(certain, later), later, { serverAt: 2000 }).serverSince).toBe(1000);
    const unknown = answer(begin(claim(stored()), T0), verdicts.retryCertain);
    const learnt = begin(claim(unknown, later), later, { serverAt: later + 500 });
    expect(learnt.serverSince).toBe(T0 + 500);
    const doubtful = answer(first, verdicts.retryUncertain);
    expect(begin(claim(doubtful, later), later, { serverAt: 2000 }).serverSince).toBe(1000);
  });
});

describe("F1 F14 every attempt", () => {
  it("carries the same key and the same bytes, whatever was answered before", () => {
    const outcomes: Verdict[] = [verdicts.retryUncertain, verdicts.conflict, verdicts.retryCertain];
    const first = started();
    let record = first;
    for (const [index, verdict] of outcomes.entries()) {
      record = started(answer(record, verdict), T0 + (index + 1) * SECOND);
      expect(record.key).toBe(first.key);
      expect(record.wire).toBe(first.wire);
      expect(record.request).toBe(first.request);
    }
  });

  it("F25 counts its own time-out, by which the next one is longer", () => {
    const once = attempted(stored(), verdicts.retryUncertain, T0, { timedOut: true });
    expect(once.timeouts).toBe(1);
    const twice = attempted(once, verdicts.retryUncertain, later, { timedOut: true });
    expect(attempted(twice, verdicts.retryUncertain, later + SECOND).timeouts).toBe(2);
  });

  it("is remembered, the last twenty of them", () => {
    let record = stored();
    for (let index = 0; index < 25; index++) record = attempted(record, verdicts.retryUncertain, T0 + index * SECOND);
    expect(record.history.map(({ at }) => at)).toEqual(Array.from({ length: 20 }, (_, i) => T0 + (i + 5) * SECOND));
    expect(record.attempts).toBe(25);
  });
});

describe("F37 an attempt that was not sent", () => {
  it("clears its mark, and the record is as if never sent", () => {
    const after = unsent(started());
    expect(after).toMatchObject({ state: "pending", mark: undefined, sentAt: undefined, uncertainSince: undefined });
    expect(after).toMatchObject({ lease: undefined, nextAttemptAt: T0 + SECOND, delay: SECOND, attempts: 1 });
  });

  it("does not unsay an earlier one, not even one of the same millisecond", () => {
    const sent = attempted(stored(), verdicts.retryCertain, T0, { delay: 0 });
    const after = unsent(started(sent, T0));
    expect(after).toMatchObject({ sentAt: T0, uncertainSince: undefined });
    expect(unsent(started(uncertain(T0), T0)).uncertainSince).toBe(T0);
  });

  it("is blocked where someone is needed", () => {
    const after = unsent(started(), { block: "headers" });
    expect(after).toMatchObject({ state: "blocked", blockedBy: "headers", lease: undefined, mark: undefined });
  });

  it("counts against the limit only where it is told the limit", () => {
    expect(unsent(started(), { maxAttempts: 1 })).toMatchObject({ state: "expired", code: "expired" });
    expect(unsent(started(uncertain()), { maxAttempts: 2 })).toMatchObject({ state: "unresolved", code: "attempts" });
    expect(unsent(started(), { maxAttempts: 2 }).state).toBe("pending");
    expect(unsent(started()).state).toBe("pending");
  });

  it("is ignored once the lease is lost", () => {
    const taken = claim(started(), T0 + MINUTE);
    expect(unsent(taken, { fence: taken.fence - 1 })).toBe(taken);
  });
});

describe("an answer", () => {
  it.each<[string, Verdict, string, string | undefined]>([
    ["2xx", verdicts.succeeded, "succeeded", undefined],
    ["a refusal", verdicts.refused, "rejected", "rejected"],
    ["422", verdicts.unprocessable, "misused", "unprocessable"],
    ["a missing key", verdicts.keyMissing, "misused", "key_missing"],
  ])("%s settles what was certain, and is kept", (_, verdict, state, code) => {
    const after = attempted(stored(), verdict, later, { response });
    expect(after).toMatchObject({ state, code, response, settledAt: later, mark: undefined, delivered: true });
    expect(after.lease).toBeUndefined();
  });

  it("with a hook to call keeps the lease, so that its holder goes on to call it", () => {
    const after = attempted(stored(), verdicts.succeeded, T0, { hook: true });
    expect(after).toMatchObject({ delivered: false, lease: { holder: "me" }, nextAttemptAt: T0 });
  });

  it.each<[string, Verdict, string]>([
    ["a refusal", verdicts.refused, "refused_while_uncertain"],
    ["422", verdicts.unprocessable, "unprocessable"],
    ["422 reused", verdicts.keyReused, "key_reused"],
    ["a missing key", verdicts.keyMissing, "key_missing"],
  ])("%s from in front of the key blocks what is in doubt, and is kept", (_, verdict, code) => {
    const after = attempted(uncertain(), verdict, later, { response });
    expect(after).toMatchObject({ state: "blocked", blockedBy: "refused", code, response, uncertainSince: T0 });
  });

  it.each<[string, Verdict, string]>([
    ["a refusal", verdicts.refusedForKey, "rejected"],
    ["422", verdicts.unprocessableForKey, "misused"],
    ["2xx", verdicts.succeeded, "succeeded"],
  ])("%s that speaks for the key settles what is in doubt", (_, verdict, state) => {
    expect(attempted(uncertain(), verdict, later).state).toBe(state);
  });

  it.each<[string, string, Verdict]>([
    ["422", "blocked", verdicts.unprocessable],
    ["422 reused", "blocked", verdicts.keyReused],
    ["a missing key", "misused", verdicts.keyMissing],
    ["a refusal", "rejected", verdicts.refused],
    ["422 that speaks", "misused", verdicts.unprocessableForKey],
  ])("%s under a caller's own key: %s", (_, state, verdict) => {
    expect(attempted(stored({}, { mint: "never" }), verdict).state).toBe(state);
  });

  it("422 reused says that the key was used: what was certain is blocked as well", () => {
    expect(attempted(stored(), verdicts.keyReused)).toMatchObject({ state: "blocked", code: "key_reused" });
  });

  it.each([
    ["certain", verdicts.retryCertain, undefined],
    ["uncertain", verdicts.retryUncertain, T0],
  ])("that is %s sends it round again", (_, verdict, uncertainSince) => {
    const after = attempted(stored(), verdict);
    expect(after).toMatchObject({ state: "pending", uncertainSince, mark: undefined, lease: undefined, sentAt: T0 });
    expect(after).toMatchObject({ nextAttemptAt: T0 + SECOND, delay: SECOND });
  });

  it("F42 that nobody explained is retried for a patience, then blocked; anything else renews the patience", () => {
    const once = attempted(stored(), verdicts.conflict, T0);
    expect(once).toMatchObject({ state: "pending", conflictSince: T0, uncertainSince: T0 });
    expect(attempted(once, verdicts.conflict, T0 + MINUTE - 1)).toMatchObject({ state: "pending", conflictSince: T0 });
    const over = attempted(once, verdicts.conflict, T0 + MINUTE);
    expect(over).toMatchObject({ state: "blocked", blockedBy: "refused", code: "refused_while_uncertain" });
    const other = attempted(once, verdicts.retryUncertain, later);
    expect(other.conflictSince).toBeUndefined();
    expect(attempted(other, verdicts.conflict, T0 + MINUTE)).toMatchObject({ state: "pending" });
  });

  it("F42 in progress is retried without an end to the patience", () => {
    let record = stored();
    for (let minute = 0; minute < 60; minute++)
      record = attempted(record, verdicts.retryUncertain, T0 + minute * MINUTE);
    expect(record.state).toBe("pending");
  });

  it("at the last attempt gives up by certainty, and tells what was answered last", () => {
    const limit = { maxAttempts: 2, response };
    const once = (verdict: Verdict) => attempted(stored(), verdict, T0, limit);
    expect(once(verdicts.retryCertain).state).toBe("pending");
    expect(attempted(once(verdicts.retryCertain), verdicts.retryCertain, later, limit)).toMatchObject({
      state: "expired",
      code: "expired",
      response,
    });
    expect(attempted(once(verdicts.retryUncertain), verdicts.retryCertain, later, limit)).toMatchObject({
      state: "unresolved",
      code: "attempts",
      response,
      uncertainSince: T0,
    });
  });

  it("at the last attempt may still settle or block", () => {
    const limit = { maxAttempts: 1 };
    expect(attempted(stored(), verdicts.succeeded, T0, limit).state).toBe("succeeded");
    expect(attempted(stored(), verdicts.credentials, T0, limit).state).toBe("blocked");
  });
});

describe("dedupes: false", () => {
  const undeduped = (): OperationRecord => stored({}, { dedupes: false });

  it.each<[string, Verdict]>([
    ["a doubtful answer", verdicts.retryUncertain],
    ["a bare 409", verdicts.conflict],
    ["a redirect", verdicts.redirected],
  ])("%s ends it unresolved: it must not be sent again", (_, verdict) => {
    expect(attempted(undeduped(), verdict)).toMatchObject({
      state: "unresolved",
      code: "attempts",
      uncertainSince: T0,
    });
  });

  it("a bare 409 past its patience ends it, too", () => {
    expect(attempted(undeduped(), verdicts.conflict, T0, { patience: 0 }).state).toBe("unresolved");
  });

  it.each<[string, Verdict, string]>([
    ["a certain answer", verdicts.retryCertain, "pending"],
    ["missing credentials", verdicts.credentials, "blocked"],
    ["2xx", verdicts.succeeded, "succeeded"],
    ["a refusal", verdicts.refused, "rejected"],
  ])("%s does what it always does", (_, verdict, state) => {
    expect(attempted(undeduped(), verdict).state).toBe(state);
  });

  it("is retried while provably unsent, and ends once an attempt was abandoned", () => {
    expect(unsent(started(undeduped())).state).toBe("pending");
    expect(claim(started(undeduped()), T0 + MINUTE)).toMatchObject({ state: "unresolved", code: "attempts" });
  });
});

describe("an answer from a lost lease", () => {
  const lost = (): OperationRecord => claim(started(), T0 + MINUTE, { holder: "other" });
  const fromLost = (record: OperationRecord, verdict: Verdict, more = {}) =>
    answer(record, verdict, { at: T0 + 2 * MINUTE, fence: 1, entry: entryAt(T0), ...more });

  it.each<[string, Verdict, string]>([
    ["2xx", verdicts.succeeded, "succeeded"],
    ["a speaking refusal", verdicts.refusedForKey, "rejected"],
    ["a speaking 422", verdicts.unprocessableForKey, "misused"],
  ])("settles by %s, whoever holds it now", (_, verdict, state) => {
    expect(fromLost(lost(), verdict)).toMatchObject({ state });
    expect(fromLost(begin(lost(), T0 + MINUTE), verdict)).toMatchObject({ state, mark: undefined });
    expect(fromLost(unresolvedRecord(), verdict)).toMatchObject({ state });
    expect(fromLost(inEveryState["blocked and uncertain"](), verdict)).toMatchObject({ state, blockedBy: undefined });
  });

  it.each<[string, Verdict]>([
    ["a refusal", verdicts.refused],
    ["422", verdicts.unprocessable],
    ["an expired key", verdicts.keyExpired],
    ["missing credentials", verdicts.credentials],
    ["429", verdicts.retryCertain],
    ["a doubt that is known", verdicts.retryUncertain],
  ])("is ignored when it is %s", (_, verdict) => {
    const record = lost();
    expect(fromLost(record, verdict)).toBe(record);
  });

  it("always adds its doubt, as of its own beginning", () => {
    const certain = { ...started(), mark: undefined, lease: undefined };
    expect(fromLost(certain, verdicts.retryUncertain).uncertainSince).toBe(T0);
    expect(fromLost(certain, verdicts.redirected).uncertainSince).toBe(T0);
    expect(fromLost(uncertain(T0 + SECOND), verdicts.retryUncertain).uncertainSince).toBe(T0);
    expect(fromLost({ ...certain, uncertainSince: T0 - 1 }, verdicts.retryUncertain).uncertainSince).toBe(T0 - 1);
  });

  it.each(["succeeded", "rejected", "misused", "expired", "canceled"] as const)(
    "changes nothing in one that the server has settled: %s",
    (state) => {
      const record = inEveryState[state]();
      for (const verdict of Object.values(verdicts)) expect(fromLost(record, verdict)).toBe(record);
    },
  );

  it("beats what a person had said of the unknown outcome, and is owed to the hook", () => {
    for (const said of [
      discard(unresolvedRecord()),
      reconcile(unresolvedRecord(), "not-applied"),
      reconcile(unresolvedRecord(), "applied"),
    ]) {
      const told = fromLost({ ...said, delivered: true }, verdicts.succeeded, { response, hook: true });
      expect(told).toMatchObject({ state: "succeeded", response, delivered: false });
      expect(told.resolution).toBeUndefined();
      expect(fromLost(said, verdicts.refusedForKey).state).toBe("rejected");
      expect(fromLost(said, verdicts.retryUncertain)).toBe(said);
    }
    const certain = reconcile(stored(), "not-applied");
    expect(fromLost(certain, verdicts.retryUncertain)).toBe(certain);
  });
});

describe("the lease", () => {
  const extend = (record: OperationRecord, fence = record.fence): OperationRecord =>
    transition(record, { type: "extend", at: later, fence, length: 7 });
  const postpone = (record: OperationRecord, fence = record.fence): OperationRecord =>
    transition(record, { type: "postpone", at: later, fence, delay: 5 });

  it("is extended by its holder only", () => {
    const record = started();
    expect(extend(record).lease).toEqual({ holder: "me", until: later + 7, length: 7 });
    expect(extend(record, record.fence - 1)).toBe(record);
    const free = stored();
    expect(extend(free)).toBe(free);
  });

  it("is given back by a hook that failed, which is called again later", () => {
    const owed = attempted(stored(), verdicts.succeeded, T0, { hook: true });
    expect(postpone(owed)).toMatchObject({ lease: undefined, nextAttemptAt: later + 5, delay: 5, delivered: false });
    expect(postpone(owed, owed.fence - 1)).toBe(owed);
  });
});

describe("delivery", () => {
  it.each(situations)("of one that is %s", (situation) => {
    const record = { ...inEveryState[situation](), delivered: false };
    const after = transition(record, { type: "deliver", at: later });
    const owed = record.state !== "pending" && record.state !== "blocked";
    expect(after).toEqual(owed ? { ...record, delivered: true, lease: undefined } : record);
  });

  it("counts for the record that the hook has had, not for what has become of it meanwhile", () => {
    const given = attempted(stored(), verdicts.retryUncertain, T0, { maxAttempts: 1, hook: true });
    expect(transition(given, { type: "deliver", at: later, delivered: given }).delivered).toBe(true);
    for (const now of [
      answer(given, verdicts.succeeded, { at: later, fence: 0, hook: true }),
      reconcile(given, "not-applied", later, true),
      discard(given, later, true),
    ]) {
      expect(now.delivered).toBe(false);
      expect(transition(now, { type: "deliver", at: later, delivered: given })).toBe(now);
    }
  });
});
