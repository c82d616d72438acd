/**
 * The state machine of an operation: every change of a record is one of these events.
 *
 * A pending record is claimed (`claim`), its attempt begins (`begin`: the "may have been sent" mark), and the attempt
 * ends as `unsent` or `answer`. Answers settle it, send it round again, or block it. People `retry`, `cancel`,
 * `discard`, `reconcile` and `adopt`. `deliver` ends the work on a settled record.
 *
 * Uncertainty is sticky: `uncertainSince` is set by the first attempt that may have been applied and never unset.
 */

import { MisuseError, UnknownOutcomeError } from "../errors.js";
import type { Verdict } from "./classify.js";
import { withKey } from "./key.js";
import {
  type AttemptEntry,
  type BlockedBy,
  hasOutcome,
  isSettled,
  isUncertain,
  type OperationRecord,
  type State,
  type StoredResponse,
  windowEnd,
  windowMargin,
} from "./record.js";

/** Whether the operation's `settled` hook is owed (or the operation is unknown here, so that it may be). */
interface Hooked {
  readonly hook: boolean;
}

/** What an attempt tells when it ends. */
interface Ended extends Hooked {
  readonly at: number;
  /** The fence under which the attempt was claimed. */
  readonly fence: number;
  /** The entry for the history. */
  readonly entry: AttemptEntry;
  /** The wait until the next attempt, should there be one. */
  readonly delay: number;
}

/** What can happen to an operation. */
export type OperationEvent =
  | ({
      readonly type: "claim";
      readonly at: number;
      readonly holder: string;
      readonly length: number;
      /** The server's clock now, where a speaking answer has told it. */
      readonly serverAt?: number | undefined;
    } & Hooked)
  | {
      readonly type: "begin";
      readonly at: number;
      readonly serverAt?: number | undefined;
      /** Mints a key, should a stale one have to be replaced. */
      readonly mint: (version: "v7" | "v4") => string;
    }
  | { readonly type: "extend"; readonly at: number; readonly fence: number; readonly length: number }
  | ({ readonly type: "unsent"; readonly block?: BlockedBy | undefined } & Ended)
  | ({
      readonly type: "answer";
      readonly verdict: Verdict;
      readonly response?: StoredResponse | undefined;
      readonly timedOut?: boolean | undefined;
      /** The most attempts that are made. */
      readonly maxAttempts: number;
      /** For how long an unexplained 409 is retried, in milliseconds. */
      readonly patience: number;
      readonly mint: (version: "v7" | "v4") => string;
    } & Ended)
  | { readonly type: "postpone"; readonly at: number; readonly fence: number; readonly delay: number }
  | ({ readonly type: "retry"; readonly at: number } & Hooked)
  | ({ readonly type: "cancel"; readonly at: number } & Hooked)
  | ({ readonly type: "discard"; readonly at: number; readonly reason: string } & Hooked)
  | ({ readonly type: "reconcile"; readonly at: number; readonly outcome: "applied" | "not-applied" } & Hooked)
  | { readonly type: "adopt"; readonly owner: string }
  | { readonly type: "deliver"; readonly at: number };

/** A key that has not been sent yet is minted anew once it is older than this part of its window. */
const STALE = 1 / 10;
const HISTORY = 20;

/**
 * The record after an event; the same object when the event changes nothing.
 *
 * @throws MisuseError `already_sent` or `in_flight`, UnknownOutcomeError `key_expired` for what a person may not do now
 * @throws Error for a move that no program may make
 */
export function transition(record: OperationRecord, event: OperationEvent): OperationRecord {
  switch (event.type) {
    case "claim":
      return claim(record, event);
    case "begin":
      return begin(record, event);
    case "extend":
      if (!holds(record, event.fence)) return record;
      return { ...record, lease: { ...lease(record), until: event.at + event.length, length: event.length } };
    case "unsent":
      return holds(record, event.fence) ? unsent(record, event) : record;
    case "answer":
      return holds(record, event.fence) && record.mark ? answered(record, event) : late(record, event);
    case "postpone":
      if (!holds(record, event.fence)) return record;
      return { ...record, lease: undefined, nextAttemptAt: event.at + event.delay, delay: event.delay };
    case "retry":
      return retry(record, event);
    case "cancel":
      if (isSettled(record)) return record;
      if (record.sentAt !== undefined || isUncertain(record)) throw new MisuseError("already_sent", { record });
      return settle(record, "canceled", "canceled", event);
    case "discard":
      return discard(record, event);
    case "reconcile":
      return reconcile(record, event);
    case "adopt":
      if (isInFlight(record)) throw new MisuseError("in_flight", { record });
      return record.owner === event.owner ? record : { ...record, owner: event.owner };
    case "deliver":
      if (!hasOutcome(record)) return record;
      return { ...record, delivered: true, lease: undefined };
  }
}

function illegal(record: OperationRecord, event: string): never {
  throw new Error(`samekey: illegal transition: ${event} of a record in state ${record.state} (${record.id})`);
}

function lease(record: OperationRecord): NonNullable<OperationRecord["lease"]> {
  return record.lease ?? illegal(record, "use of a lease");
}

function holds(record: OperationRecord, fence: number): boolean {
  return record.lease !== undefined && record.fence === fence;
}

/** Whether an attempt is under way whose end nobody has told yet. */
function isInFlight(record: OperationRecord): boolean {
  return record.mark !== undefined && record.lease !== undefined;
}

type Of<Type extends OperationEvent["type"]> = Extract<OperationEvent, { type: Type }>;

function claim(record: OperationRecord, event: Of<"claim">): OperationRecord {
  const found = record.mark ? abandon(record, record.mark.at) : record;
  const over = hasOutcome(found) ? undefined : endOf(found, event.at, event.serverAt);
  // The lease that ended is nobody's: whoever comes for the hook claims it anew.
  if (over) return settle({ ...found, lease: undefined }, over.state, over.code, event);
  if (found.state === "blocked" || (hasOutcome(found) && found.delivered)) return found;
  return {
    ...found,
    fence: found.fence + 1,
    lease: { holder: event.holder, until: event.at + event.length, length: event.length },
  };
}

/** An attempt was begun and nobody told its end: it may have been applied. */
function abandon(record: OperationRecord, at: number): OperationRecord {
  return remember(doubt(record), { at, ms: 0, verdict: "abandoned" });
}

/** Turns the mark into lasting uncertainty. */
function doubt(record: OperationRecord): OperationRecord {
  const { mark } = record;
  if (!mark) return record;
  return { ...record, mark: undefined, uncertainSince: Math.min(record.uncertainSince ?? mark.at, mark.at) };
}

function remember(record: OperationRecord, entry: AttemptEntry): OperationRecord {
  return { ...record, history: [...record.history, entry].slice(-HISTORY) };
}

/** Whether the time for attempts is over, and with what certainty. */
function endOf(
  record: OperationRecord,
  at: number,
  serverAt?: number,
): { state: "unresolved" | "expired"; code: "deadline" | "key_expired" | "attempts" | "expired" } | undefined {
  const uncertain = isUncertain(record);
  if (record.deadline !== undefined && at >= record.deadline) {
    return uncertain ? { state: "unresolved", code: "deadline" } : { state: "expired", code: "expired" };
  }
  if (!uncertain) {
    const end = windowEnd(record);
    return end !== undefined && at >= end ? { state: "expired", code: "expired" } : undefined;
  }
  if (!record.wire.dedupes) return { state: "unresolved", code: "attempts" };
  return isWindowOver(record, at, serverAt) ? { state: "unresolved", code: "key_expired" } : undefined;
}

function isWindowOver(record: OperationRecord, at: number, serverAt: number | undefined): boolean {
  const { retention } = record.wire;
  const margin = windowMargin(retention);
  const start = record.uncertainSince ?? record.mark?.at ?? at;
  if (serverAt !== undefined && record.serverSince !== undefined) {
    return serverAt - record.serverSince >= retention - margin;
  }
  // A clock that stands before a time it has already shown cannot tell how much has passed.
  const latest = Math.max(start, record.history.at(-1)?.at ?? start);
  return at < latest - margin || at - start >= retention - margin;
}

function begin(record: OperationRecord, event: Of<"begin">): OperationRecord {
  if (record.state !== "pending" || !record.lease || record.mark) return illegal(record, "begin");
  const fresh = freshKey(record, event);
  return {
    ...fresh,
    attempts: fresh.attempts + 1,
    mark: { at: event.at, attempt: fresh.attempts + 1 },
    sentAt: fresh.sentAt ?? event.at,
    serverSince: isUncertain(fresh) ? fresh.serverSince : event.serverAt,
  };
}

/** The record with a key that the server cannot have forgotten by the time it answers. */
function freshKey(record: OperationRecord, event: Of<"begin">): OperationRecord {
  const { mint, retention } = record.wire;
  if (mint === "never" || isUncertain(record)) return record;
  // Sent but certainly not applied: the window counts from that sending. Never sent: the key must be young.
  const limit = record.sentAt === undefined ? retention * STALE : retention - windowMargin(retention);
  const age = event.at - (record.sentAt ?? record.keyAt);
  if (age >= 0 && age <= limit) return record;
  return rekey(record, event.mint(mint), event.at);
}

function rekey(record: OperationRecord, key: string, at: number): OperationRecord {
  return { ...record, key, keyAt: at, wire: withKey(record.wire, key), sentAt: undefined };
}

function unsent(record: OperationRecord, event: Of<"unsent">): OperationRecord {
  const first = record.mark !== undefined && record.sentAt === record.mark.at;
  const after = remember({ ...record, mark: undefined, sentAt: first ? undefined : record.sentAt }, event.entry);
  return event.block ? block(after, event.block) : again(after, event, false);
}

function block(record: OperationRecord, by: BlockedBy, code?: string): OperationRecord {
  return { ...record, state: "blocked", blockedBy: by, code, lease: undefined };
}

/** Round again, unless the next attempt would come too late. */
function again(record: OperationRecord, event: Of<"unsent"> | Of<"answer">, asked: boolean): OperationRecord {
  const over = endOf(record, event.at);
  if (over) return settle(record, over.state, over.code, event);
  const window = isUncertain(record) || record.wire.mint === "never" ? windowEnd(record) : undefined;
  const last = Math.min(record.deadline ?? Number.POSITIVE_INFINITY, window ?? Number.POSITIVE_INFINITY);
  const left = last - event.at;
  // A wait that the server asked for is not shortened; our own leaves room for one more attempt while it can.
  const delay = asked ? event.delay : Math.min(event.delay, Math.floor(left / 2));
  if (delay >= left || left < 2) {
    const byDeadline = last === record.deadline;
    if (!isUncertain(record)) return settle(record, "expired", "expired", event);
    return settle(record, "unresolved", byDeadline ? "deadline" : "key_expired", event);
  }
  return { ...record, state: "pending", lease: undefined, nextAttemptAt: event.at + delay, delay };
}

function answered(record: OperationRecord, event: Of<"answer">): OperationRecord {
  const { verdict } = event;
  const uncertain = record.uncertainSince !== undefined;
  const known = remember({ ...record, mark: undefined, timeouts: record.timeouts + (event.timedOut ? 1 : 0) }, event.entry);
  switch (verdict.kind) {
    case "succeeded":
      return settle(known, "succeeded", undefined, event, event.response);
    case "refused":
      if (verdict.speaks || !uncertain) return settle(known, "rejected", "rejected", event, event.response);
      return block(known, "refused", "refused_while_uncertain");
    case "misused": {
      // "Reused" tells that the server knows the key from another request: something may have been applied.
      const ours = record.wire.mint !== "never" && verdict.code !== "key_reused";
      if (verdict.speaks || (!uncertain && ours)) return settle(known, "misused", verdict.code, event, event.response);
      return { ...block(known, "refused", verdict.code), response: event.response };
    }
    case "blocked":
      return block(verdict.certain ? known : doubt({ ...known, mark: record.mark }), verdict.by);
    case "key_expired": {
      if (uncertain) return settle(known, "unresolved", "key_expired", event);
      if (record.renewed || record.wire.mint === "never") return settle(known, "expired", "expired", event, event.response);
      const renewed = rekey(known, event.mint("v4"), event.at);
      return again({ ...renewed, wire: { ...renewed.wire, mint: "v4" }, renewed: true }, { ...event, delay: 0 }, false);
    }
    case "retry": {
      const after = verdict.certain ? known : doubt({ ...known, mark: record.mark });
      const conflictSince = verdict.conflict ? (record.conflictSince ?? event.at) : undefined;
      if (conflictSince !== undefined && event.at - conflictSince >= event.patience) {
        return block({ ...after, conflictSince }, "refused", "refused_while_uncertain");
      }
      if (record.attempts >= event.maxAttempts) {
        const unknown = isUncertain(after);
        return settle(after, unknown ? "unresolved" : "expired", unknown ? "attempts" : "expired", event);
      }
      return again({ ...after, conflictSince }, event, verdict.after !== undefined);
    }
  }
}

/** The end of an attempt whose lease is lost: only what is beyond doubt, or adds doubt, counts. */
function late(record: OperationRecord, event: Of<"answer">): OperationRecord {
  const { verdict } = event;
  if (isSettled(record)) return record;
  const certain = verdict.kind === "retry" || verdict.kind === "blocked" ? verdict.certain : true;
  if (verdict.kind === "succeeded") return settle(record, "succeeded", undefined, event, event.response);
  if (verdict.kind === "refused" && verdict.speaks) return settle(record, "rejected", "rejected", event, event.response);
  if (verdict.kind === "misused" && verdict.speaks) return settle(record, "misused", verdict.code, event, event.response);
  if (certain) return record;
  const since = Math.min(record.uncertainSince ?? event.entry.at, event.entry.at);
  return since === record.uncertainSince ? record : { ...record, uncertainSince: since };
}

function settle(
  record: OperationRecord,
  state: State,
  code: string | undefined,
  event: Hooked & { at: number },
  response?: StoredResponse,
): OperationRecord {
  const mark = state === "unresolved" ? doubt(record) : record;
  return {
    ...mark,
    state,
    code,
    blockedBy: undefined,
    mark: undefined,
    response,
    settledAt: event.at,
    delivered: !event.hook,
    // Whoever holds it goes on to call the hook; without one there is nothing left to hold.
    lease: event.hook ? record.lease : undefined,
    nextAttemptAt: event.at,
    delay: 0,
  };
}

function retry(record: OperationRecord, event: Of<"retry">): OperationRecord {
  if (isSettled(record)) return record;
  if (record.state === "pending") return isInFlight(record) ? record : { ...record, nextAttemptAt: event.at, delay: 0 };
  const over = endOf(record, event.at);
  if (over?.code === "key_expired" && record.state === "unresolved") {
    throw new UnknownOutcomeError("key_expired", { record });
  }
  if (over && record.state === "blocked") return settle(record, over.state, over.code, event);
  return {
    ...record,
    state: "pending",
    blockedBy: undefined,
    code: undefined,
    conflictSince: undefined,
    response: undefined,
    settledAt: undefined,
    // A person's decision to go on outlives the deadline that had ended it.
    deadline: over ? undefined : record.deadline,
    delivered: false,
    lease: undefined,
    nextAttemptAt: event.at,
    delay: 0,
  };
}

function discard(record: OperationRecord, event: Of<"discard">): OperationRecord {
  if (isSettled(record)) return record;
  if (isInFlight(record)) throw new MisuseError("in_flight", { record });
  const resolution = { how: "discarded" as const, reason: event.reason, at: event.at };
  const ended = isUncertain(record)
    ? settle(record, "unresolved", "discarded", event)
    : settle(record, "expired", "expired", event);
  return { ...ended, resolution, lease: undefined };
}

function reconcile(record: OperationRecord, event: Of<"reconcile">): OperationRecord {
  if (isSettled(record) && record.state !== "unresolved") return record;
  if (isInFlight(record)) throw new MisuseError("in_flight", { record });
  const ended =
    event.outcome === "applied"
      ? settle(record, "succeeded", undefined, event)
      : settle(record, "rejected", "rejected", event);
  return { ...ended, resolution: { how: event.outcome, at: event.at }, lease: undefined };
}
