import { describe, expect, it } from "vitest";
import type { Verdict } from "../../../src/core/classify.js";
import type { OperationRecord } from "../../../src/core/record.js";
import { windowEnd, windowMargin } from "../../../src/core/record.js";
import {
  answer,
  attempted,
  begin,
  claim,
  DAY,
  HOUR,
  inEveryState,
  MINUTE,
  response,
  retry,
  SECOND,
  started,
  stored,
  T0,
  uncertain,
  unsent,
  verdicts,
} from "./machine.js";

const MARGIN = 5 * MINUTE;
const END = T0 + DAY - MARGIN;

describe("the margin of a window", () => {
  it.each([
    [DAY, MARGIN],
    [30 * DAY, MARGIN],
    [HOUR, MARGIN],
    [50 * MINUTE, MARGIN],
    [10 * MINUTE, MINUTE],
    [SECOND, 100],
    [15, 2],
  ])("of %d ms is %d ms: five minutes, or a tenth of short ones, in whole milliseconds", (retention, margin) => {
    expect(windowMargin(retention)).toBe(margin);
  });
});

describe("F44 the end of a key's window", () => {
  it.each<[string, OperationRecord, number | undefined]>([
    ["never sent", stored(), undefined],
    ["under way", started(), END],
    ["in doubt since T0", uncertain(), END],
    ["in doubt since T0, another attempt under way", started(uncertain(), T0 + HOUR), END],
    ["sent, certainly not applied, the key ours to mint anew", attempted(stored(), verdicts.retryCertain), undefined],
    [
      "sent, certainly not applied, a caller's own key",
      attempted(stored({}, { mint: "never" }), verdicts.retryCertain),
      END,
    ],
    ["refused for certain at T0, under way since", started(attempted(stored(), verdicts.retryCertain), T0 + HOUR), END],
    [
      "refused for certain at T0, in doubt since",
      answer(started(attempted(stored(), verdicts.retryCertain), T0 + HOUR), verdicts.retryUncertain, {
        at: T0 + HOUR,
      }),
      END,
    ],
    ["a caller's own key, never sent", stored({}, { mint: "never" }), undefined],
  ])("%s", (_, record, end) => {
    expect(windowEnd(record)).toBe(end);
  });

  it("I6 no claim starts an attempt from then on: unresolved, key_expired", () => {
    expect(claim(uncertain(), END - 1).lease).toBeDefined();
    for (const at of [END, END + 1, T0 + 25 * HOUR]) {
      const over = claim(uncertain(), at, { hook: true });
      expect(over).toMatchObject({ state: "unresolved", code: "key_expired", settledAt: at, delivered: false });
      expect(over.lease).toBeUndefined();
    }
  });

  it("I6 an attempt that was abandoned counts from its beginning", () => {
    expect(claim(started(), END)).toMatchObject({ state: "unresolved", code: "key_expired", uncertainSince: T0 });
  });

  it("I6 nor does a beginning, should the claim have come just before", () => {
    const claimed = claim(uncertain(), END - 1);
    expect(begin(claimed, END - 1).mark).toBeDefined();
    expect(() => begin(claimed, END)).toThrow("illegal transition");
  });

  it("what is blocked ends then as well", () => {
    expect(claim(inEveryState["blocked and uncertain"](), END)).toMatchObject({
      state: "unresolved",
      code: "key_expired",
      blockedBy: undefined,
    });
    const own = attempted(stored({}, { mint: "never" }), verdicts.credentials);
    expect(claim(own, END - 1)).toBe(own);
    expect(claim(own, END)).toMatchObject({ state: "expired", code: "expired" });
  });

  it("a caller's own key that was certainly not applied expires by certainty", () => {
    const own = attempted(stored({}, { mint: "never" }), verdicts.retryCertain);
    expect(claim(own, END - 1).state).toBe("pending");
    expect(claim(own, END)).toMatchObject({ state: "expired", code: "expired" });
  });
});

describe("a deadline", () => {
  const deadline = T0 + MINUTE;

  it.each<[string, () => OperationRecord, string, string]>([
    ["never sent", () => stored({ deadline }), "expired", "expired"],
    ["in doubt", () => uncertain(T0, stored({ deadline })), "unresolved", "deadline"],
    ["blocked and certain", () => attempted(stored({ deadline }), verdicts.credentials), "expired", "expired"],
    ["blocked and in doubt", () => attempted(stored({ deadline }), verdicts.redirected), "unresolved", "deadline"],
    ["abandoned", () => started(stored({ deadline })), "unresolved", "deadline"],
  ])("ends what is %s by certainty", (_, make, state, code) => {
    expect(["pending", "blocked"]).toContain(claim(make(), deadline - 1).state);
    expect(claim(make(), deadline)).toMatchObject({ state, code });
  });

  it("passed during the attempt ends it, whatever else was answered; a settling answer still settles", () => {
    const late = (verdict: Verdict) => answer(started(stored({ deadline })), verdict, { at: deadline + 1 });
    expect(late(verdicts.retryCertain)).toMatchObject({ state: "expired" });
    expect(late(verdicts.retryUncertain)).toMatchObject({ state: "unresolved", code: "deadline" });
    expect(late(verdicts.succeeded)).toMatchObject({ state: "succeeded" });
    expect(late(verdicts.refused)).toMatchObject({ state: "rejected" });
    expect(unsent(started(stored({ deadline })), { at: deadline }).state).toBe("expired");
  });
});

describe("F38 a wait that would pass the last permitted attempt", () => {
  const deadline = T0 + MINUTE;
  const asked = (certain: boolean, after: number): Verdict => ({ kind: "retry", certain, after });

  it("ends the operation now, by certainty, when the server asked for it", () => {
    const limited = () => stored({ deadline });
    const over = { delay: MINUTE, response };
    expect(attempted(limited(), asked(true, MINUTE), T0, over)).toMatchObject({ state: "expired", response });
    expect(attempted(limited(), asked(false, MINUTE), T0, over)).toMatchObject({
      state: "unresolved",
      code: "deadline",
    });
    expect(attempted(stored(), asked(false, DAY), T0, { delay: DAY })).toMatchObject({
      state: "unresolved",
      code: "key_expired",
    });
    expect(attempted(limited(), asked(true, MINUTE - 1), T0, { delay: MINUTE - 1 })).toMatchObject({
      state: "pending",
      nextAttemptAt: T0 + MINUTE - 1,
    });
  });

  it("is shortened when it is our own, so that there is one more attempt", () => {
    expect(attempted(stored({ deadline }), verdicts.retryUncertain, T0, { delay: HOUR })).toMatchObject({
      state: "pending",
      delay: 30 * SECOND,
    });
    expect(attempted(uncertain(), verdicts.retryUncertain, END - MINUTE, { delay: HOUR })).toMatchObject({
      nextAttemptAt: END - 30 * SECOND,
    });
  });

  it("is shortened to what the server asked for, not below", () => {
    const after = attempted(stored({ deadline }), asked(true, 45 * SECOND), T0, { delay: HOUR });
    expect(after).toMatchObject({ state: "pending", delay: 45 * SECOND });
  });

  it("ends it when there is no time left for one", () => {
    expect(answer(started(stored({ deadline })), verdicts.retryCertain, { at: deadline - 1 }).state).toBe("expired");
  });

  it("does not bound what is certain and has no deadline", () => {
    expect(attempted(stored(), asked(true, 100 * DAY), T0, { delay: 100 * DAY })).toMatchObject({
      state: "pending",
      nextAttemptAt: T0 + 100 * DAY,
    });
  });
});

describe("a clock that jumps", () => {
  it("backward by more than the margin: how much has passed is unknown, so what is in doubt is unresolved", () => {
    expect(claim(uncertain(), T0 - MARGIN).state).toBe("pending");
    expect(claim(uncertain(), T0 - MARGIN - 1)).toMatchObject({ state: "unresolved", code: "key_expired" });
  });

  it.each<[string, (record: OperationRecord) => OperationRecord]>([
    ["the latest attempt", (record) => attempted(record, verdicts.retryUncertain, T0 + 10 * HOUR)],
    [
      "the end of the latest attempt",
      (record) => answer(started(record, T0 + HOUR), verdicts.retryUncertain, { at: T0 + 10 * HOUR }),
    ],
    ["a person's retry", (record) => retry(record, T0 + 10 * HOUR)],
    ["an attempt that was abandoned", (record) => started(record, T0 + 10 * HOUR)],
  ])("backward is seen by %s as well", (_, until) => {
    const record = until(uncertain());
    expect(claim(record, T0 + 10 * HOUR - MARGIN).state).toBe("pending");
    expect(claim(record, T0 + 9 * HOUR)).toMatchObject({ state: "unresolved", code: "key_expired" });
  });

  it("backward during an attempt: the same", () => {
    expect(answer(started(), verdicts.retryUncertain, { at: T0 - HOUR })).toMatchObject({ state: "unresolved" });
    expect(answer(started(), verdicts.retryCertain, { at: T0 - HOUR })).toMatchObject({ state: "pending" });
    const second = started(uncertain(), T0 + 10 * HOUR);
    const entry = { at: T0 + 10 * HOUR, ms: -HOUR, verdict: "retry" };
    expect(answer(second, verdicts.retryCertain, { at: T0 + 9 * HOUR, entry })).toMatchObject({ state: "unresolved" });
  });

  it("backward ends nothing that is certain", () => {
    expect(claim(stored(), T0 - 2 * DAY).lease).toBeDefined();
    expect(claim(attempted(stored(), verdicts.retryCertain), T0 - 2 * DAY).lease).toBeDefined();
    expect(claim(attempted(stored({}, { mint: "never" }), verdicts.retryCertain), T0 - 2 * DAY).lease).toBeDefined();
  });

  it("forward past the window: unresolved, and the server's own clock knows better", () => {
    const begun = begin(claim(stored()), T0, { serverAt: T0 });
    const record = answer(begun, verdicts.retryUncertain);
    expect(claim(record, T0 + 2 * DAY).state).toBe("unresolved");
    expect(claim(record, T0 + 2 * DAY, { serverAt: T0 + HOUR }).lease).toBeDefined();
    expect(retry({ ...record, state: "unresolved" }, T0 + 2 * DAY, { serverAt: T0 + HOUR }).state).toBe("pending");
    const again = begin(claim(record, T0 + 2 * DAY, { serverAt: T0 + HOUR }), T0 + 2 * DAY, { serverAt: T0 + HOUR });
    expect(answer(again, verdicts.retryUncertain, { serverAt: T0 + HOUR })).toMatchObject({ state: "pending" });
  });

  it("the server's clock counts the window, and one that stands still before its beginning is no clock", () => {
    const record = answer(begin(claim(stored()), T0, { serverAt: 1000 }), verdicts.retryUncertain);
    const length = DAY - MARGIN;
    expect(claim(record, T0, { serverAt: 1000 + length - 1 }).state).toBe("pending");
    expect(claim(record, T0, { serverAt: 1000 + length })).toMatchObject({ state: "unresolved", code: "key_expired" });
    expect(claim(record, T0, { serverAt: 1000 - MARGIN }).state).toBe("pending");
    expect(claim(record, T0, { serverAt: 1000 - MARGIN - 1 })).toMatchObject({ state: "unresolved" });
  });

  it("a server's clock that was not known at the first doubt does not count", () => {
    expect(claim(uncertain(), T0 - HOUR, { serverAt: T0 }).state).toBe("unresolved");
    expect(claim(uncertain(), T0 + 2 * DAY, { serverAt: T0 }).state).toBe("unresolved");
  });

  it("what is blocked ends when it falls due by our own clock, so that nobody finds it due for ever", () => {
    const record = { ...inEveryState["blocked and uncertain"](), serverSince: T0 };
    expect(claim(record, END, { serverAt: T0 + HOUR }).state).toBe("unresolved");
  });
});

describe("the key of one that was never sent", () => {
  const tenth = DAY / 10;

  it("is kept while it is younger than a tenth of its window", () => {
    const record = stored();
    expect(started(record, T0 + tenth).key).toBe(record.key);
  });

  it("is minted anew in the write that marks it once it is older", () => {
    expect(started(stored(), T0 + tenth + 1)).toMatchObject({
      key: "minted-v7",
      keyAt: T0 + tenth + 1,
      sentAt: T0 + tenth + 1,
      wire: { value: "minted-v7", mint: "v7" },
    });
    expect(started(stored({}, { mint: "v4", quoted: true }), T0 + 7 * DAY)).toMatchObject({
      key: "minted-v4",
      wire: { value: '"minted-v4"' },
    });
  });

  it("is minted anew after a week offline, attempts that were not sent in between or not", () => {
    const record = unsent(started(stored()), { delay: 7 * DAY });
    expect(started(record, T0 + 7 * DAY).key).toBe("minted-v7");
  });

  it("is minted anew where the clock stands well before it, and kept where it only slewed", () => {
    const record = stored();
    expect(started(record, T0 - MARGIN).key).toBe(record.key);
    expect(started(record, T0 - MARGIN - 1).key).toBe("minted-v7");
  });

  it("is kept for ever when the caller gave it or the intent derives it", () => {
    const record = stored({}, { mint: "never" });
    expect(started(record, T0 + 365 * DAY).key).toBe(record.key);
  });
});

describe("the key of one that was sent", () => {
  it("I3 is kept while anything is in doubt, up to the last millisecond of its window", () => {
    const record = uncertain();
    expect(started(record, END - 1).key).toBe(record.key);
  });

  it("I2 is kept within its window while nothing is in doubt, a slewing clock or not", () => {
    const record = attempted(stored(), verdicts.retryCertain, T0 + HOUR);
    for (const at of [T0 + HOUR - 3, T0 + 5 * HOUR, T0 + HOUR + DAY - MARGIN])
      expect(started(record, at).key).toBe(record.key);
  });

  it("is minted anew past its window when certainly nothing was applied under it", () => {
    const blocked = attempted(stored(), verdicts.credentials);
    const signedIn = retry(blocked, T0 + 3 * DAY);
    expect(started(signedIn, T0 + 3 * DAY)).toMatchObject({ key: "minted-v7", sentAt: T0 + 3 * DAY });
  });
});

describe("a key that the server calls expired", () => {
  it("is minted anew once, as v4, at once, when nothing is in doubt", () => {
    const renewed = attempted(stored(), verdicts.keyExpired, T0, { maxAttempts: 1 });
    expect(renewed).toMatchObject({
      state: "pending",
      key: "minted-v4",
      keyAt: T0,
      renewed: true,
      sentAt: undefined,
      delay: 0,
      nextAttemptAt: T0,
      wire: { value: "minted-v4", mint: "v4" },
    });
    const again = attempted(renewed, verdicts.keyExpired, T0 + 1, { response });
    expect(again).toMatchObject({ state: "expired", code: "expired", key: "minted-v4", response });
  });

  it("I3 is never minted anew when something is in doubt", () => {
    const record = uncertain();
    expect(attempted(record, verdicts.keyExpired, T0 + 1)).toMatchObject({
      state: "unresolved",
      code: "key_expired",
      key: record.key,
    });
  });

  it("is never minted anew when the caller gave it", () => {
    const record = stored({}, { mint: "never" });
    expect(attempted(record, verdicts.keyExpired)).toMatchObject({ state: "expired", key: record.key });
  });

  it("is not minted anew past the deadline", () => {
    const record = started(stored({ deadline: T0 + 1 }));
    expect(answer(record, verdicts.keyExpired, { at: T0 + 1 }).state).toBe("expired");
  });
});
