import { describe, expect, it } from "vitest";
import {
  hasOutcome,
  holdsIntent,
  isHeld,
  isSettled,
  isUncertain,
  needsSync,
  type OperationRecord,
  occupiesLane,
  STATES,
  scheduleOf,
  wasApplied,
} from "../../../src/core/record.js";
import { transition } from "../../../src/core/transition.js";
import {
  answer,
  attempted,
  begin,
  cancel,
  claim,
  DAY,
  discard,
  inEveryState,
  MINUTE,
  reconcile,
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

const END = T0 + DAY - 5 * MINUTE;

describe("what a record tells", () => {
  it.each<[Situation, string]>([
    ["pending", "holds"],
    ["in flight", "uncertain holds maybe"],
    ["pending and uncertain", "uncertain holds maybe"],
    ["blocked", "holds"],
    ["blocked and uncertain", "uncertain holds maybe"],
    ["blocked, never sent", "holds"],
    ["succeeded", "outcome settled holds applied"],
    ["rejected", "outcome settled"],
    ["misused", "outcome settled"],
    ["expired", "outcome settled"],
    ["canceled", "outcome settled"],
    ["unresolved", "outcome uncertain holds maybe"],
    ["discarded", "outcome settled uncertain maybe"],
  ])("when it is %s: %s", (situation, facts) => {
    const record = inEveryState[situation]();
    const told = {
      outcome: hasOutcome(record),
      settled: isSettled(record),
      uncertain: isUncertain(record),
      holds: holdsIntent(record),
      applied: wasApplied(record) === "yes",
      maybe: wasApplied(record) === "maybe",
    };
    expect(
      Object.entries(told)
        .flatMap(([fact, holds]) => (holds ? [fact] : []))
        .join(" "),
    ).toBe(facts);
    expect(occupiesLane(record)).toBe(false);
    expect(occupiesLane({ ...record, lane: "a" })).toBe(!isSettled(record));
  });

  it.each([
    ["unprocessable", false],
    ["key_missing", false],
    ["key_reused", true],
  ])("misused as %s holds its intent: %j", (code, holds) => {
    expect(holdsIntent(stored({ state: "misused", code }))).toBe(holds);
  });

  it("every state is listed once", () => {
    const states = situations.map((situation) => inEveryState[situation]().state);
    expect([...STATES].sort()).toEqual([...new Set(states)].sort());
  });
});

describe("when a record needs work again", () => {
  // By so much a clock may lag without having jumped back.
  const LAG = 10 * SECOND;

  it.each<[string, OperationRecord, object | undefined]>([
    ["at its next attempt", stored({ nextAttemptAt: T0 + 5, delay: 3 }), { due: T0 + 5, since: T0 + 2 - LAG }],
    ["at the end of its lease", claim(stored(), T0), { due: T0 + 30 * SECOND, since: T0 - LAG }],
    [
      "at its hook, when it is owed",
      attempted(stored(), verdicts.refused, T0, { hook: true }),
      { due: T0 + 30 * SECOND, since: T0 - LAG },
    ],
    ["at its hook, when nobody holds it", cancel(stored(), T0 + 9, true), { due: T0 + 9, since: T0 + 9 - LAG }],
    ["never, when it is delivered", attempted(stored(), verdicts.succeeded), undefined],
    ["at its hook, when it is unresolved", { ...unresolvedRecord(), delivered: false }, { due: T0, since: T0 - LAG }],
    ["never, when it is blocked and certain", inEveryState.blocked(), undefined],
    [
      "at the end of its window, when it is blocked and in doubt",
      inEveryState["blocked and uncertain"](),
      { due: END, since: 0 },
    ],
    [
      "at its deadline, when it is blocked",
      attempted(stored({ deadline: T0 + 7 }), verdicts.credentials),
      { due: T0 + 7, since: 0 },
    ],
    ["never, while it is parked", stored({ parked: true, lane: "a" }), undefined],
  ])("%s", (_, record, schedule) => {
    expect(scheduleOf(record)).toEqual(schedule);
  });

  it("is a whole number of milliseconds", () => {
    const record = attempted(stored({}, { retention: 12_345 }), verdicts.redirected);
    expect(scheduleOf(record)?.due).toBe(T0 + 12_345 - 1235);
  });
});

describe("a lease", () => {
  it.each<[string, number, boolean]>([
    ["has begun", T0, true],
    ["is nearly over", T0 + 30 * SECOND - 1, true],
    ["is over", T0 + 30 * SECOND, false],
    ["was taken by a clock that is a little ahead", T0 - 10 * SECOND, true],
    ["is from the future: the clock has jumped back", T0 - 10 * SECOND - 1, false],
  ])("that %s", (_, now, held) => {
    expect(isHeld(claim(stored()), now)).toBe(held);
    expect(isHeld(stored(), now)).toBe(false);
  });
});

describe("what is synced before anyone acts on it", () => {
  type Step = (record: OperationRecord) => OperationRecord;
  const again: Step = (record) => begin(claim(record, T0 + MINUTE), T0 + MINUTE);
  const certain = attempted(stored(), verdicts.retryCertain);

  it.each<[string, OperationRecord, Step, boolean]>([
    ["a claim", stored(), (it) => claim(it), false],
    ["the first mark", claim(stored()), (it) => begin(it), true],
    ["the mark after one that was cleared", unsent(started()), again, true],
    ["the mark after a certain answer", certain, again, true],
    ["the mark of what is in doubt already", uncertain(), again, false],
    ["F37 the mark of what was abandoned", started(), again, false],
    ["a mark that becomes a doubt", started(), (it) => claim(it, T0 + MINUTE), false],
    ["a doubt that nobody knew of", certain, (it) => answer(it, verdicts.retryUncertain), true],
    ["a mark that is cleared", started(), (it) => unsent(it), false],
    ["another wait", started(uncertain()), (it) => answer(it, verdicts.retryUncertain), false],
    ["another key", started(), (it) => answer(it, verdicts.keyExpired), true],
    ["success", started(), (it) => answer(it, verdicts.succeeded), false],
    ["a refusal", started(), (it) => answer(it, verdicts.refused), true],
    ["misuse", started(), (it) => answer(it, verdicts.unprocessable), true],
    ["a block", started(), (it) => answer(it, verdicts.credentials), true],
    ["expiry", stored({ deadline: T0 }), (it) => claim(it), true],
    ["cancellation", stored(), (it) => cancel(it), true],
    ["an unknown outcome", started(), (it) => answer(it, verdicts.retryUncertain, { maxAttempts: 1 }), true],
    ["a discard", unresolvedRecord(), (it) => discard(it), true],
    ["a reconciliation", unresolvedRecord(), (it) => reconcile(it, "applied"), true],
    ["a discard that is reconciled", inEveryState.discarded(), (it) => reconcile(it, "applied"), true],
    ["a retry of an unknown outcome, soon on its way again", unresolvedRecord(), (it) => retry(it), true],
    ["another owner", stored(), (it) => transition(it, { type: "adopt", owner: "bob" }), true],
    ["a delivery", unresolvedRecord(), (it) => transition(it, { type: "deliver", at: T0 }), false],
  ])("%s", (_, before, step, strict) => {
    const after = step(before);
    expect(after).not.toBe(before);
    expect(needsSync(before, after)).toBe(strict);
  });

  it("a new record", () => {
    expect(needsSync(undefined, stored())).toBe(true);
  });
});
