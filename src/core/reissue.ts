/** A new operation in the place of one that was given up: a new key, the same request. */

import { MisuseError, UnknownOutcomeError } from "../errors.js";
import type { EventOf } from "./event.js";
import { changed } from "./fields.js";
import { withKey } from "./key.js";
import { endOf, settle } from "./moves.js";
import { newRecord } from "./new-record.js";
import { holdsIntent, isSettled, type NewRecord, type OperationRecord } from "./record.js";

/**
 * Lets go of the old operation. Whoever reissues says that it was not applied.
 *
 * @throws MisuseError `in_flight` while it is alive, `already_settled` when it was applied, `body_not_replayable` when its body
 * is gone; UnknownOutcomeError `attempts` while the server can still be asked under its own key
 */
export function giveWay(record: OperationRecord, event: EventOf<"reissue">): OperationRecord {
  if (record.state === "succeeded") throw new MisuseError("already_settled", { record });
  if (record.hash !== undefined) {
    throw new MisuseError("body_not_replayable", {
      record,
      detail: "its body was dropped at the end of its keep time",
    });
  }
  const resolution = { how: "not-applied", reason: event.reason, at: event.at } as const;
  if (record.state === "unresolved" && !record.resolution) {
    const over = endOf(record, event.at, event.serverAt);
    if (over?.code !== "key_expired" && over?.code !== "attempts") {
      const detail = "the server still remembers its key: `retry` asks it again under the same one";
      throw new UnknownOutcomeError("attempts", { record, detail });
    }
    return changed(settle(record, "rejected", "rejected", event), { resolution, lease: undefined });
  }
  if (!isSettled(record)) throw new MisuseError("in_flight", { record, detail: "it is alive; `discard` it first" });
  return holdsIntent(record) ? changed(record, { resolution }) : record;
}

/** The operation that takes its place. */
export function successorOf(
  record: OperationRecord,
  { id, key, at }: { readonly id: string; readonly key: string; readonly at: number },
): NewRecord {
  const { name, intent, owner, lane, origin, request, wire, traceparent } = record;
  const next = { ...withKey(wire, key), mint: wire.mint === "never" ? "v7" : wire.mint };
  const reissueOf = record.id;
  return newRecord(
    { id, key, name, intent, owner, lane, origin, request, wire: next, deadline: undefined, traceparent, reissueOf },
    at,
  );
}
