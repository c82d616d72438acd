import type { Verdict } from "../../../src/core/classify.js";
import type { AttemptEntry, NewRecord, OperationRecord, StoredResponse, Wire } from "../../../src/core/record.js";
import { type OperationEvent, transition } from "../../../src/core/transition.js";
import { newRecord, T0 } from "../../support/records.js";

export { T0 } from "../../support/records.js";

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

type Of<Type extends OperationEvent["type"]> = Partial<Extract<OperationEvent, { type: Type }>>;

/** A record as a store holds it: pending, never sent, due at T0, its key good for a day. */
export function stored(change: Partial<OperationRecord> = {}, wire: Partial<Wire> = {}): OperationRecord {
  const fresh: NewRecord = newRecord();
  return {
    seq: 1,
    rev: 1,
    uncertainSince: undefined,
    ...fresh,
    ...change,
    wire: { ...fresh.wire, ...change.wire, ...wire },
  };
}

export const verdicts = {
  succeeded: { kind: "succeeded", speaks: false },
  refused: { kind: "refused", speaks: false },
  refusedForKey: { kind: "refused", speaks: true },
  unprocessable: { kind: "misused", code: "unprocessable", speaks: false },
  unprocessableForKey: { kind: "misused", code: "unprocessable", speaks: true },
  keyReused: { kind: "misused", code: "key_reused", speaks: false },
  keyMissing: { kind: "misused", code: "key_missing", speaks: false },
  retryCertain: { kind: "retry", certain: true },
  retryUncertain: { kind: "retry", certain: false },
  conflict: { kind: "retry", certain: false, conflict: true },
  credentials: { kind: "blocked", by: "credentials", certain: true },
  redirected: { kind: "blocked", by: "redirected", certain: false },
  keyExpired: { kind: "key_expired" },
} satisfies Record<string, Verdict>;

export const response: StoredResponse = { status: 201, headers: {}, replayed: false };

export function claim(record: OperationRecord, at = T0, event: Of<"claim"> = {}): OperationRecord {
  return transition(record, { type: "claim", at, holder: "me", length: 30 * SECOND, hook: false, ...event });
}

export const mint = (version: "v7" | "v4"): string => `minted-${version}`;

export function begin(record: OperationRecord, at = T0, event: Of<"begin"> = {}): OperationRecord {
  return transition(record, { type: "begin", at, mint, ...event });
}

/** Claimed, with its attempt under way. */
export function started(record: OperationRecord = stored(), at = T0): OperationRecord {
  return begin(claim(record, at), at);
}

export function entryAt(at: number, verdict = "test"): AttemptEntry {
  return { at, ms: 0, verdict };
}

export function answer(record: OperationRecord, verdict: Verdict, event: Of<"answer"> = {}): OperationRecord {
  const at = event.at ?? record.mark?.at ?? T0;
  return transition(record, {
    type: "answer",
    verdict,
    at,
    fence: record.fence,
    entry: entryAt(record.mark?.at ?? at, verdict.kind),
    delay: SECOND,
    hook: false,
    maxAttempts: Number.POSITIVE_INFINITY,
    patience: MINUTE,
    mint,
    ...event,
  });
}

export function unsent(record: OperationRecord, event: Of<"unsent"> = {}): OperationRecord {
  const at = event.at ?? record.mark?.at ?? T0;
  const entry = entryAt(at, "unsent");
  return transition(record, { type: "unsent", at, fence: record.fence, entry, delay: SECOND, hook: false, ...event });
}

export function retry(record: OperationRecord, at = T0, event: Of<"retry"> = {}): OperationRecord {
  return transition(record, { type: "retry", at, hook: false, ...event });
}

export function cancel(record: OperationRecord, at = T0, hook = false): OperationRecord {
  return transition(record, { type: "cancel", at, hook });
}

export function discard(record: OperationRecord, at = T0, hook = false): OperationRecord {
  return transition(record, { type: "discard", at, hook, reason: "looked it up" });
}

export function reconcile(
  record: OperationRecord,
  outcome: "applied" | "not-applied",
  at = T0,
  hook = false,
): OperationRecord {
  return transition(record, { type: "reconcile", at, hook, outcome });
}

/** One attempt from start to answer. */
export function attempted(
  record: OperationRecord,
  verdict: Verdict,
  at = T0,
  event: Of<"answer"> = {},
): OperationRecord {
  return answer(started(record, at), verdict, event);
}

/** Pending again after an attempt that may have been applied. */
export const uncertain = (at = T0, record = stored()): OperationRecord =>
  attempted(record, verdicts.retryUncertain, at);

/** Given up with the outcome unknown. */
export const unresolvedRecord = (at = T0): OperationRecord =>
  attempted(stored(), verdicts.retryUncertain, at, { maxAttempts: 1 });

/** One record for every state, as the machine itself makes them. */
export const inEveryState = {
  pending: () => stored(),
  "in flight": () => started(),
  "pending and uncertain": () => uncertain(),
  blocked: () => attempted(stored(), verdicts.credentials),
  "blocked and uncertain": () => attempted(uncertain(), verdicts.refused, T0 + SECOND),
  "blocked, never sent": () => unsent(started(), { block: "credentials" }),
  succeeded: () => attempted(stored(), verdicts.succeeded),
  rejected: () => attempted(stored(), verdicts.refused),
  misused: () => attempted(stored(), verdicts.unprocessable),
  expired: () => attempted(stored(), verdicts.retryCertain, T0, { maxAttempts: 1 }),
  canceled: () => cancel(stored()),
  unresolved: () => unresolvedRecord(),
  discarded: () => discard(unresolvedRecord()),
} satisfies Record<string, () => OperationRecord>;

export type Situation = keyof typeof inEveryState;
export const situations = Object.keys(inEveryState) as Situation[];
