/**
 * The state machine of an operation: every change of a record is one of these events.
 *
 * A pending record is claimed (`claim`), its attempt begins (`begin`: the "may have been sent" mark), and the attempt
 * ends as `unsent` or `answer`. Answers settle it, send it round again, or block it. People `retry`, `cancel`,
 * `discard`, `reconcile`, `reissue` and `adopt`. `deliver` ends the work on a settled record.
 *
 * Uncertainty is sticky: `uncertainSince` is set by the first attempt that may have been applied and never unset.
 */

import { answered, late, rekey, unsent } from "./answer.js";
import { adopt, cancel, discard, reconcile, retry } from "./decisions.js";
import type { EventOf, OperationEvent } from "./event.js";
import { changed } from "./fields.js";
import { doubt, endOf, remember, settle } from "./moves.js";
import { hasOutcome, isUncertain, type Lease, type OperationRecord, windowMargin } from "./record.js";
import { giveWay } from "./reissue.js";

export type { Mint, OperationEvent } from "./event.js";

/** A key that has not been sent yet is minted anew once it is older than this part of its window. */
const STALE = 1 / 10;

/**
 * The record after an event; the same object when the event changes nothing.
 *
 * @throws MisuseError `already_sent`, `already_settled` or `in_flight`, UnknownOutcomeError `key_expired` or `attempts` for what a person
 * may not do now
 * @throws Error for a move that no program may make
 */
export function transition(record: OperationRecord, event: OperationEvent): OperationRecord {
  switch (event.type) {
    case "claim":
      return claim(record, event);
    case "begin":
      return begin(record, event);
    case "extend":
      return extend(record, event);
    case "unsent":
      return holds(record, event.fence) ? unsent(record, event) : record;
    case "answer":
      return holds(record, event.fence) && record.mark ? answered(record, event) : late(record, event);
    case "postpone":
      if (!holds(record, event.fence)) return record;
      return changed(record, { lease: undefined, nextAttemptAt: event.at + event.delay, delay: event.delay });
    case "retry":
      return retry(record, event);
    case "cancel":
      return cancel(record, event);
    case "discard":
      return discard(record, event);
    case "reconcile":
      return reconcile(record, event);
    case "reissue":
      return giveWay(record, event);
    case "adopt":
      return adopt(record, event);
    case "deliver":
      return deliver(record, event);
  }
}

function holds(record: OperationRecord, fence: number): boolean {
  return record.lease !== undefined && record.fence === fence;
}

function claim(record: OperationRecord, event: EventOf<"claim">): OperationRecord {
  // An attempt was begun and nobody told its end: it may have been applied.
  const found = record.mark ? remember(doubt(record), { at: record.mark.at, ms: 0, verdict: "abandoned" }) : record;
  // A blocked record falls due by our clock alone, so that clock decides.
  const serverAt = found.state === "blocked" ? undefined : event.serverAt;
  const over = hasOutcome(found) ? undefined : endOf(found, event.at, serverAt);
  // The lease that ended is nobody's: whoever comes for the hook claims it anew.
  if (over) return settle(changed(found, { lease: undefined }), over.state, over.code, event);
  if (found.state === "blocked" || (hasOutcome(found) && found.delivered)) return found;
  return changed(found, {
    fence: found.fence + 1,
    lease: leaseOf(event.holder, event),
  });
}

function leaseOf(holder: string, { at, length, steady }: EventOf<"claim"> | EventOf<"extend">): Lease {
  return { holder, until: at + length, length, ...(steady !== undefined && { steady: steady + length }) };
}

function begin(record: OperationRecord, event: EventOf<"begin">): OperationRecord {
  const isReady = record.state === "pending" && record.lease && !record.mark;
  if (!isReady || endOf(record, event.at, event.serverAt)) {
    throw new Error(`samekey: illegal transition: begin of a record in state ${record.state} (${record.id})`);
  }
  const fresh = withFreshKey(record, event);
  const attempt = fresh.attempts + 1;
  return changed(fresh, {
    attempts: attempt,
    mark: { at: event.at, attempt, first: fresh.sentAt === undefined },
    sentAt: fresh.sentAt ?? event.at,
    serverSince: firstSentThere(fresh, event),
  });
}

/** When its key was first sent, by the server's clock, as far as that is known. */
function firstSentThere(record: OperationRecord, { at, serverAt }: EventOf<"begin">): number | undefined {
  const { sentAt = at, serverSince } = record;
  if (serverSince !== undefined && record.sentAt !== undefined) return serverSince;
  // A clock that was put back since then cannot tell how long ago that was.
  if (isUncertain(record) || serverAt === undefined || at < sentAt) return undefined;
  return serverAt - (at - sentAt);
}

/** The record with a key that the server cannot have forgotten by the time it answers. */
function withFreshKey(record: OperationRecord, event: EventOf<"begin">): OperationRecord {
  const { mint, retention } = record.wire;
  if (mint === "never" || isUncertain(record)) return record;
  const margin = windowMargin(retention);
  // Sent but certainly not applied: the window counts from that sending. Never sent: the key must be young.
  const limit = record.sentAt === undefined ? retention * STALE : retention - margin;
  const age = event.at - (record.sentAt ?? record.keyAt);
  return age >= -margin && age <= limit ? record : rekey(record, event.mint(mint), event.at);
}

function extend(record: OperationRecord, event: EventOf<"extend">): OperationRecord {
  if (!record.lease || !holds(record, event.fence)) return record;
  return changed(record, { lease: leaseOf(record.lease.holder, event) });
}

function deliver(record: OperationRecord, { delivered }: EventOf<"deliver">): OperationRecord {
  if (!hasOutcome(record)) return record;
  const { state, code, settledAt } = record;
  const isStale =
    delivered && (delivered.state !== state || delivered.code !== code || delivered.settledAt !== settledAt);
  return isStale ? record : changed(record, { delivered: true, lease: undefined });
}
