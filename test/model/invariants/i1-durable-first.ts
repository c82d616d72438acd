import { isUncertain, type OperationRecord } from "../../../src/core/record.js";
import type { ModelEvent, Sent } from "../trace.js";
import type { Invariant } from "./invariant.js";

/** How long a store that hangs may hang. */
const STALL = 30_000;
/** How long it takes to look at it again, at first. */
const PAUSE = 5_000;

/** What somebody was told not to be recorded. */
interface Unrecorded {
  readonly who: string;
  readonly id: string;
  /** What it is called in the program. */
  readonly ref: string;
  readonly at: number;
}

export const durableFirst: Invariant = {
  name: "I1",
  says: "no byte goes on the wire before its key, its bytes and the mark are synced; what could not be recorded is not sent",
  watch: (facts) => {
    let unrecorded: Unrecorded[] = [];
    /** Who recorded what stands under an id, and how many calls there had been. */
    const makers = new Map<string, { readonly who: string; readonly calls: number }>();
    /** By the call's number: how many there had been before it. */
    const calls = new Map<number, number>();
    /** By the number of a call that waits for its answer: what it is called in the program. */
    const open = new Map<number, string>();
    /** Since when the store answers. */
    let answers = 0;
    return (event) => {
      if (event.what === "fault") answers = Math.max(answers, event.fate === "stalled" ? event.at + STALL : event.at);
      if (event.what === "action") calls.set(event.n, calls.size);
      if (event.what === "action" && "ref" in event.action) open.set(event.n, event.action.ref);
      if (event.what === "told") open.delete(event.n);
      if (event.what === "write" && !event.before) makers.set(event.id, { who: event.who, calls: calls.size });
      if (event.what === "told" && event.answer.startsWith("StoreError") && event.action.do === "operate" && event.id) {
        const { who, id, at, action } = event;
        // Under an id that the caller gave another may have recorded it, or an earlier call, or one that is still at it does.
        const isAskedFor = [...open.values()].includes(action.ref);
        const maker = makers.get(id);
        const isOther = maker && (maker.who !== who || maker.calls <= (calls.get(event.n) ?? 0));
        if (!isOther && !isAskedFor) unrecorded.push({ who, id, ref: action.ref, at });
      }
      unrecorded = unrecorded.filter((one) => !isExcused(one, event, answers));
      if (event.what !== "fetch") return undefined;
      const record = facts.recordOf(event);
      const told = unrecorded.find(({ id, who }) => id === record?.id && (who === event.who || !facts.dead.has(who)));
      if (told) return `${told.id} was sent after a StoreError told ${told.who} that it is not`;
      // Its key may be that of one purged in another tab, whose attempt was under way: it cannot be told which is sent.
      const isEither = event.durable?.wire.value === event.key && facts.wasRemoved(event.key);
      return isEither ? undefined : judge(event, record);
    };
  },
};

/** Whether who was told so is not the only one any more who answers for it. */
function isExcused({ who, id, ref, at }: Unrecorded, event: ModelEvent, answers: number): boolean {
  switch (event.what) {
    // It cannot be withdrawn while the store fails, for longer each time; until then another client may come upon it.
    case "write":
      if (event.id !== id || event.who === who) return false;
      return !event.before || event.at < at + 2 * Math.max(0, answers - at) + PAUSE;
    // To send the same once more is to record it once more.
    case "action":
      return "ref" in event.action && event.action.ref === ref;
    // Nobody is there to withdraw it.
    case "crash":
    case "closing":
    case "freeze":
      return event.who === who;
    case "power":
      return true;
    default:
      return false;
  }
}

function judge({ key, body, method }: Sent, durable: OperationRecord | undefined): string | undefined {
  if (durable?.wire.value !== key) return `key ${key} was sent, and no synced record has it`;
  // Somebody elsewhere, to whom the lease looked over, has decided about it while its attempt was being made ready.
  const isDecided = durable.resolution !== undefined;
  if (!isUncertain(durable) && !isDecided)
    return `key ${key} was sent, and its synced record does not say that it may have been`;
  const bytes = new TextDecoder().decode(durable.request.body);
  if (bytes !== body || durable.request.method !== method) return `key ${key} was sent with other bytes than recorded`;
  return undefined;
}
