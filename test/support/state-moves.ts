import type { Verdict } from "../../src/core/classify.js";
import type { OperationRecord, State } from "../../src/core/record.js";
import { type OperationEvent, transition } from "../../src/core/transition.js";
import { newRecord, T0 } from "./records.js";

const DAY = 86_400_000;

const verdicts: Verdict[] = [
  { kind: "succeeded", speaks: false },
  { kind: "refused", speaks: false },
  { kind: "refused", speaks: true },
  { kind: "misused", code: "unprocessable", speaks: false },
  { kind: "misused", code: "unprocessable", speaks: true },
  { kind: "retry", certain: true },
  { kind: "retry", certain: false },
  { kind: "retry", certain: false, conflict: true },
  { kind: "blocked", by: "credentials", certain: true },
  { kind: "key_expired" },
];

const person = new Set<OperationEvent["type"]>(["retry", "cancel", "discard", "reconcile", "reissue"]);

function eventsOn({ fence }: OperationRecord): OperationEvent[] {
  const ended = { fence, delay: 0, entry: { at: T0, ms: 1, verdict: "tried" } };
  return [T0, T0 + 2 * DAY].flatMap((at): OperationEvent[] => [
    { type: "claim", at, holder: "me", length: 1000, hook: false },
    { type: "begin", at, mint: () => "minted" },
    { type: "unsent", at, hook: false, ...ended },
    { type: "unsent", at, hook: false, ...ended, block: "credentials" },
    ...verdicts.map((verdict): OperationEvent => {
      return { type: "answer", at, hook: false, ...ended, verdict, maxAttempts: 3, patience: 0, mint: () => "minted" };
    }),
    { type: "retry", at, hook: false },
    { type: "cancel", at, hook: false },
    { type: "discard", at, hook: false, reason: "told" },
    { type: "reconcile", at, hook: false, outcome: "applied" },
    { type: "reconcile", at, hook: false, outcome: "not-applied" },
    { type: "reissue", at, hook: false, reason: "told" },
  ]);
}

/** What decides where a record can go; two that agree in it lead to the same places. */
const shapeOf = (record: OperationRecord): string =>
  JSON.stringify([
    record.state,
    Boolean(record.lease),
    Boolean(record.mark),
    record.uncertainSince !== undefined,
    record.sentAt !== undefined,
    Boolean(record.resolution),
    record.renewed,
    Math.min(record.attempts, 3),
  ]);

/** Every move from one state to another that `transition` makes, as `by: from → to`, by trying all events from all shapes. */
export function stateMoves(): string[] {
  const first: OperationRecord = { seq: 1, rev: 1, uncertainSince: undefined, ...newRecord() };
  const seen = new Map([[shapeOf(first), first]]);
  const moves = new Set<string>();
  const told = (by: string, from: State, to: State) => from !== to && moves.add(`${by}: ${from} → ${to}`);
  for (const record of seen.values()) {
    for (const event of eventsOn(record)) {
      let next: OperationRecord;
      try {
        next = transition(record, event);
      } catch {
        continue; // refused, or a move that no program makes
      }
      told(person.has(event.type) ? "person" : "samekey", record.state, next.state);
      if (!seen.has(shapeOf(next))) seen.set(shapeOf(next), next);
    }
  }
  return [...moves].sort();
}
