/** What the end of an attempt does to its operation. */

import type { EventOf } from "./event.js";
import { changed } from "./fields.js";
import { withKey } from "./key.js";
import { block, doubt, endOf, givenUp, remember, settle, windowLeft } from "./moves.js";
import { isSettled, isUncertain, type OperationRecord } from "./record.js";

type Answer = EventOf<"answer">;

/** Nothing was sent: round again, or blocked. */
export function unsent(record: OperationRecord, event: EventOf<"unsent">): OperationRecord {
  const sentAt = record.mark?.first ? undefined : record.sentAt;
  const unmade = event.maxAttempts === undefined ? (record.unmade ?? 0) + 1 : record.unmade;
  const after = remember(changed(record, { mark: undefined, sentAt, unmade }), event.entry);
  if (event.block) return block(after, event.block);
  return again(after, event, event.maxAttempts ?? Number.POSITIVE_INFINITY, 0);
}

/** The attempt of whoever holds the record has ended. */
export function answered(record: OperationRecord, event: Answer): OperationRecord {
  const { verdict, response } = event;
  const timeouts = record.timeouts + (event.timedOut ? 1 : 0);
  const known = remember(changed(record, { mark: undefined, timeouts }), event.entry);
  const uncertain = isUncertain(known);
  switch (verdict.kind) {
    case "succeeded":
      return settle(known, "succeeded", undefined, event, response);
    case "refused":
      if (verdict.speaks || !uncertain) return settle(known, "rejected", "rejected", event, response);
      return block(known, "refused", "refused_while_uncertain", response);
    case "misused": {
      // "Reused" tells that the server knows the key from another request, and a key that is not ours may have been
      // used elsewhere: something may have been applied.
      const clear = !uncertain && (verdict.code === "key_missing" || (isOurs(record) && verdict.code !== "key_reused"));
      if (verdict.speaks || clear) return settle(known, "misused", verdict.code, event, response);
      return block(known, "refused", verdict.code, response);
    }
    case "key_expired":
      return keyExpired(known, event);
    case "unresolved":
      return settle(doubtful(known, record), "unresolved", "refused_while_uncertain", event, response);
    case "blocked": {
      const after = verdict.certain ? known : doubtful(known, record);
      const over = isUncertain(after) && !after.wire.dedupes ? givenUp(after, "attempts") : undefined;
      return over
        ? settle(after, over.state, over.code, event, response)
        : block(after, verdict.by, undefined, response);
    }
    case "retry": {
      const conflictSince = verdict.conflict ? (record.conflictSince ?? event.at) : undefined;
      const after = changed(verdict.certain ? known : doubtful(known, record), { conflictSince });
      const impatient = conflictSince !== undefined && event.at - conflictSince >= event.patience;
      if (impatient && after.wire.dedupes) return block(after, "refused", "refused_while_uncertain", response);
      return again(after, event, event.maxAttempts, verdict.after ?? 0);
    }
  }
}

/** The end of an attempt whose lease is lost: only what is beyond doubt, or adds doubt, counts. */
export function late(record: OperationRecord, event: Answer): OperationRecord {
  // What a person has said of an unknown outcome gives way to the server's word.
  if (isSettled(record) && record.resolution === undefined) return record;
  const { verdict, response } = event;
  const open = changed(record, { resolution: undefined });
  if (verdict.kind === "succeeded") return settle(open, "succeeded", undefined, event, response);
  if (verdict.kind === "refused" && verdict.speaks) return settle(open, "rejected", "rejected", event, response);
  if (verdict.kind === "misused" && verdict.speaks) return settle(open, "misused", verdict.code, event, response);
  const doubts = (verdict.kind === "retry" || verdict.kind === "blocked") && !verdict.certain;
  const adds = doubts || verdict.kind === "unresolved";
  if (!adds || isSettled(record) || (record.uncertainSince ?? Number.POSITIVE_INFINITY) <= event.entry.at)
    return record;
  return changed(record, { uncertainSince: event.entry.at });
}

/** The record under another key, which nothing was sent under. */
export function rekey(record: OperationRecord, key: string, at: number): OperationRecord {
  return changed(record, { key, keyAt: at, wire: withKey(record.wire, key), sentAt: undefined });
}

function isOurs({ wire }: OperationRecord): boolean {
  return wire.mint !== "never";
}

function doubtful(known: OperationRecord, { mark }: OperationRecord): OperationRecord {
  return doubt(changed(known, { mark }));
}

function keyExpired(record: OperationRecord, event: Answer): OperationRecord {
  if (isUncertain(record) || record.renewed || !isOurs(record)) {
    const { state, code } = givenUp(record, "key_expired");
    return settle(record, state, code, event, event.response);
  }
  const renewed = rekey(record, event.mint("v4"), event.at);
  const next = changed(renewed, { wire: { ...renewed.wire, mint: "v4" }, renewed: true });
  return again(next, { ...event, delay: 0 }, Number.POSITIVE_INFINITY, 0);
}

/**
 * Round again, unless the next attempt would come too late.
 *
 * @param asked - the wait that the server asked for: it is not shortened, while our own leaves room for one more attempt
 */
function again(
  record: OperationRecord,
  event: EventOf<"unsent"> | Answer,
  maxAttempts: number,
  asked: number,
): OperationRecord {
  const over = endOf(record, event.at, event.serverAt) ?? tooLate(record, event, maxAttempts, asked);
  if (over) return settle(record, over.state, over.code, event, event.type === "answer" ? event.response : undefined);
  const delay = Math.max(asked, Math.min(event.delay, Math.floor(timeLeft(record, event) / 2)));
  return changed(record, { state: "pending", lease: undefined, nextAttemptAt: event.at + delay, delay });
}

function tooLate(
  record: OperationRecord,
  event: EventOf<"unsent"> | Answer,
  maxAttempts: number,
  asked: number,
): ReturnType<typeof endOf> {
  if (record.attempts - (record.unmade ?? 0) >= maxAttempts) return givenUp(record, "attempts");
  const left = timeLeft(record, event);
  if (asked < left && left >= 2) return undefined;
  const byKey = windowLeft(record, event.at, event.serverAt) <= left;
  return givenUp(record, byKey ? "key_expired" : "deadline");
}

function timeLeft(record: OperationRecord, { at, serverAt }: EventOf<"unsent"> | Answer): number {
  return Math.min(windowLeft(record, at, serverAt), (record.deadline ?? Number.POSITIVE_INFINITY) - at);
}
