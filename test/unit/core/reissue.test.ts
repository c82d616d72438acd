import { describe, expect, it } from "vitest";
import type { OperationRecord } from "../../../src/core/record.js";
import { holdsIntent } from "../../../src/core/record.js";
import { successorOf } from "../../../src/core/reissue.js";
import { transition } from "../../../src/core/transition.js";
import { attempted, DAY, discard, HOUR, inEveryState, situations, stored, T0, unresolvedRecord } from "./machine.js";

const late = T0 + 2 * DAY;
const giveWay = (record: OperationRecord, at = late): OperationRecord =>
  transition(record, { type: "reissue", at, reason: "not in the ledger", hook: false });

describe("an operation gives way to a new one", () => {
  it("when it is over and was not applied, or is unresolved past its key", () => {
    const told = situations.map((situation) => {
      try {
        return [situation, giveWay(inEveryState[situation]()).state];
      } catch (error) {
        return [situation, (error as { code: string }).code];
      }
    });
    expect(Object.fromEntries(told)).toEqual({
      pending: "in_flight",
      "in flight": "in_flight",
      "pending and uncertain": "in_flight",
      blocked: "in_flight",
      "blocked and uncertain": "in_flight",
      "blocked, never sent": "in_flight",
      succeeded: "already_settled",
      rejected: "rejected",
      misused: "misused",
      expired: "expired",
      canceled: "canceled",
      unresolved: "rejected",
      discarded: "unresolved",
    });
  });

  it("with the reason kept, and its intent free", () => {
    const after = giveWay(unresolvedRecord());
    expect(after.resolution).toEqual({ how: "not-applied", reason: "not in the ledger", at: late });
    expect(holdsIntent(after)).toBe(false);
    const reused = attempted(stored(), { kind: "misused", code: "key_reused", speaks: true });
    expect(holdsIntent(giveWay(reused))).toBe(false);
  });

  it("never while the server remembers its key: the same key asks without any risk", () => {
    expect(() => giveWay(unresolvedRecord(), T0 + HOUR)).toThrow(/`retry`/);
  });

  it("never without its body", () => {
    const stripped = { ...discard(unresolvedRecord(), late), hash: "sha256:00" };
    expect(() => giveWay(stripped)).toThrow(expect.objectContaining({ code: "body_not_replayable" }));
  });
});

describe("its successor", () => {
  it("is the same request, never sent, under a key of its own, and linked to it", () => {
    const old = giveWay({ ...unresolvedRecord(), intent: "order-1", lane: "a" });
    const next = successorOf(old, { id: "new-id", key: "new-key", at: late });
    expect(next).toMatchObject({
      id: "new-id",
      key: "new-key",
      keyAt: late,
      wire: { ...old.wire, value: "new-key" },
      request: old.request,
      intent: "order-1",
      lane: "a",
      owner: old.owner,
      state: "pending",
      attempts: 0,
      fence: 0,
      reissueOf: old.id,
    });
    for (const field of ["uncertainSince", "sentAt", "mark", "lease", "response", "resolution", "settledAt"] as const) {
      expect(next[field]).toBeUndefined();
    }
  });

  it("may be given another key before it is sent, even if the old one's was the caller's own", () => {
    const old = giveWay(stored({ ...unresolvedRecord() }, { mint: "never", quoted: true }));
    expect(successorOf(old, { id: "a", key: "k", at: late }).wire).toMatchObject({ mint: "v7", value: '"k"' });
  });
});
