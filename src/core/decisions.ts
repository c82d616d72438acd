/** What a person decides about an operation. */

import { MisuseError, UnknownOutcomeError } from "../errors.js";
import type { EventOf } from "./event.js";
import { changed } from "./fields.js";
import { endOf, isInFlight, settle } from "./moves.js";
import { holdsIntent, isHeld, isSettled, isUncertain, type OperationRecord } from "./record.js";

/** @throws UnknownOutcomeError `key_expired` or `attempts` when it must not be sent again */
export function retry(record: OperationRecord, event: EventOf<"retry">): OperationRecord {
  if (isSettled(record)) return record;
  if (record.state === "pending") {
    return isInFlight(record) ? record : changed(record, { nextAttemptAt: event.at, delay: 0 });
  }
  const over = endOf(record, event.at, event.serverAt);
  if (over && record.state === "blocked") return settle(record, over.state, over.code, event);
  if (over?.code === "key_expired" || over?.code === "attempts") throw new UnknownOutcomeError(over.code, { record });
  return changed(record, {
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
  });
}

/** @throws MisuseError `already_sent` unless it was never sent */
export function cancel(record: OperationRecord, event: EventOf<"cancel">): OperationRecord {
  if (record.sentAt !== undefined || isUncertain(record)) throw new MisuseError("already_sent", { record });
  return isSettled(record) ? record : settle(record, "canceled", "canceled", event);
}

/** @throws MisuseError `in_flight`, `already_settled` when it has succeeded: that cannot be given up */
export function discard(record: OperationRecord, event: EventOf<"discard">): OperationRecord {
  const resolution = { how: "discarded" as const, reason: event.reason, at: event.at };
  if (record.state === "misused" && holdsIntent(record)) return changed(record, { resolution });
  if (record.state === "succeeded") throw new MisuseError("already_settled", { record });
  if (isSettled(record)) return record;
  refuseInFlight(record, event.at);
  const ended = isUncertain(record)
    ? settle(record, "unresolved", "discarded", event)
    : settle(record, "expired", "expired", event);
  return changed(ended, { resolution, lease: undefined });
}

/** @throws MisuseError `in_flight`, `already_settled` when its outcome is another */
export function reconcile(record: OperationRecord, event: EventOf<"reconcile">): OperationRecord {
  if (isSettled(record) && record.state !== "unresolved") {
    if ((record.state === "succeeded") === (event.outcome === "applied")) return record;
    throw new MisuseError("already_settled", { record });
  }
  refuseInFlight(record, event.at);
  const ended =
    event.outcome === "applied"
      ? settle(record, "succeeded", undefined, event)
      : settle(record, "rejected", "rejected", event);
  return changed(ended, { resolution: { how: event.outcome, at: event.at }, lease: undefined });
}

/** @throws MisuseError `in_flight` */
export function adopt(record: OperationRecord, event: EventOf<"adopt">): OperationRecord {
  if (isInFlight(record)) throw new MisuseError("in_flight", { record });
  return record.owner === event.owner ? record : changed(record, { owner: event.owner });
}

/** Nobody speaks for an attempt whose lease is over: it counts as lost. */
function refuseInFlight(record: OperationRecord, at: number): void {
  if (record.mark && isHeld(record, at)) throw new MisuseError("in_flight", { record });
}
