import type { OperationRecord } from "../../../src/core/record.js";
import type { Request } from "./facts.js";
import type { Invariant } from "./invariant.js";

/** What a hook was shown, and what it said to that. */
interface Finding {
  readonly who: string;
  readonly record: OperationRecord;
  readonly finds: string;
}

export const reconciledAsAsked: Invariant = {
  name: "reconciled",
  says: "a hook that looked for what became of an operation answers for no attempt that was made since",
  watch: (facts) => {
    const findings: Finding[] = [];
    /** Clients whose users decide as well. */
    const deciding = new Set<string>();
    return (event) => {
      if (event.what === "action" && event.action.do === "reconcile") deciding.add(event.who);
      if (event.what === "found") findings.push(event);
      if (event.what !== "write" || !event.after?.resolution || event.before?.resolution) return undefined;
      const { who } = event;
      const { id, seq, resolution } = event.after;
      if (resolution.how === "discarded" || deciding.has(who)) return undefined;
      const isSame = (record: OperationRecord | undefined): boolean => record?.id === id && record.seq === seq;
      const said = findings.filter((one) => one.who === who && isSame(one.record) && one.finds === resolution.how);
      if (said.length === 0) return `${id} is ${resolution.how}, and nobody has said so`;
      const seen = Math.max(...said.map(({ record }) => record.attempts));
      const isLater = ({ record }: Request): boolean => isSame(record) && (record?.attempts ?? 0) > seen;
      const later = [...facts.requests.values()].find(isLater);
      return later && `${id} is ${resolution.how} by a look that was before request ${later.request}`;
    };
  },
};
