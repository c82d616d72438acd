import type { Invariant } from "./invariant.js";

const REASONS = /^(no whole answer within|the sdk was closed|its owner signed out|its owner's operations were purged)/;

export const waiters: Invariant = {
  name: "I10",
  says: "aborting, timing out or leaving ends the waiting, not the operation",
  watch: () => {
    let canceled = false;
    const unrecorded = new Set<string>();
    return (event) => {
      if (event.what === "action" && event.action.do === "cancel") canceled = true;
      // What may not have been recorded is withdrawn, also where nobody waits to be told.
      if (event.what === "fault") unrecorded.add(event.who);
      if (event.what === "end" && event.how === "aborted" && !REASONS.test(event.reason)) {
        return `request ${event.request} was aborted because "${event.reason}"`;
      }
      const isCanceled =
        event.what === "write" && event.after?.state === "canceled" && event.before?.state !== "canceled";
      if (isCanceled && !canceled && !unrecorded.has(event.who))
        return `${event.id} was canceled, and nobody asked for it`;
      return undefined;
    };
  },
};
