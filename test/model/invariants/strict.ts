import type { State } from "../../../src/core/record.js";
import type { Invariant } from "./invariant.js";

const FINAL = /^(RejectedError|CanceledError|UnknownOutcomeError)/;

export const strict: Invariant = {
  name: "strict",
  says: "what anyone is told to be over is synced before, unless it is a success",
  watch: (facts) => {
    /** By id: the states that have been written down, each as it has to be. */
    const written = new Map<string, Set<State>>();
    return (event) => {
      if (event.what === "write" && event.after && (event.strict || event.after.state === "succeeded")) {
        const states = written.get(event.id) ?? new Set();
        written.set(event.id, states.add(event.after.state));
      }
      if (event.what === "hook" && !facts.purged.has(event.record.owner)) {
        const { id, state } = event.record;
        if (!written.get(id)?.has(state) && event.durable?.state !== state)
          return `the hook is told that ${id} is ${state}, and it is not written down`;
      }
      if (event.what !== "told" || !event.record || !FINAL.test(event.answer)) return undefined;
      const { record, durable, answer, state = record.state } = event;
      return durable?.state === state || written.get(record.id)?.has(state)
        ? undefined
        : `${record.id}: ${answer} was told, and the disk says ${durable?.state}`;
    };
  },
};
