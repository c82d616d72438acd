import type { Invariant } from "./invariant.js";

const FINAL = /^(RejectedError|CanceledError|UnknownOutcomeError)/;

export const strict: Invariant = {
  name: "strict",
  says: "what anyone is told to be over is synced before, unless it is a success",
  watch: () => (event) => {
    if (event.what !== "told" || !event.record || !FINAL.test(event.answer)) return undefined;
    const { record, durable, answer } = event;
    return durable?.state === record.state
      ? undefined
      : `${record.id}: ${answer} was told, and the disk says ${durable?.state}`;
  },
};
