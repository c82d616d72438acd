import { isSettled, type OperationRecord } from "../../../src/core/record.js";
import type { Invariant } from "./invariant.js";

export const lanes: Invariant = {
  name: "lanes",
  says: "in a lane nothing is sent before what was recorded earlier has ended",
  watch: (facts) => {
    /** Whoever is adopted comes into a lane in the middle. */
    const adopted = new Set<string>();
    return (event) => {
      if (event.what === "write" && event.before && event.after && event.before.owner !== event.after.owner)
        adopted.add(event.id);
      if (event.what !== "fetch" || event.durable?.lane === undefined || adopted.has(event.durable.id))
        return undefined;
      const sent = event.durable;
      const isBefore = (other: OperationRecord): boolean =>
        other.lane === sent.lane && other.owner === sent.owner && other.seq < sent.seq;
      const earlier = [...facts.records.values()].find(
        (other) => isBefore(other) && !isSettled(other) && !adopted.has(other.id),
      );
      return earlier && `${sent.id} of lane ${sent.lane} is sent, and ${earlier.id} before it is ${earlier.state}`;
    };
  },
};
