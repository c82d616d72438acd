import { windowMargin } from "../../../src/core/record.js";
import type { Invariant } from "./invariant.js";

const START = Date.UTC(2026, 0, 1);
/** By how much the server's clock may be misread: its answer takes a while. */
const BLUR = 30_000;

export const notTooSoon: Invariant = {
  name: "not too soon",
  says: "an operation is not given up for its key's window before that is over by a true clock",
  watch: (facts) => {
    /** Keys that the server has said to have forgotten. */
    const forgotten = new Set<string>();
    /** By key: the longest wait that was asked for, in milliseconds. */
    const asked = new Map<string, number>();
    return (event) => {
      if (event.what === "end" && event.how === "answer") {
        const { key = "" } = facts.requests.get(event.request) ?? {};
        if (event.status === 410) forgotten.add(key);
        asked.set(key, Math.max(asked.get(key) ?? 0, Number(event.headers["retry-after"] ?? 0) * 1_000));
      }
      if (event.what !== "write" || !event.before || facts.jumps > 0) return undefined;
      const { before, after, at } = event;
      if (after?.state !== "unresolved" || after.code !== "key_expired" || before.state === "unresolved")
        return undefined;
      if (forgotten.has(after.key)) return undefined;
      const { retention } = after.wire;
      // The server may have known the key since an attempt that was refused for certain.
      const since = Math.min(
        after.sentAt ?? Number.POSITIVE_INFINITY,
        after.uncertainSince ?? Number.POSITIVE_INFINITY,
      );
      const elapsed = at - (since - START);
      // Half of what is left is not waited for.
      const isOver = 2 * elapsed + BLUR + (asked.get(after.key) ?? 0) >= retention - windowMargin(retention);
      return isOver ? undefined : `${after.id} is given up ${elapsed} ms after its first attempt`;
    };
  },
};
