import type { Plant } from "./plant.js";

/** In the rules of the core. */
export const inTheCore: readonly Plant[] = [
  {
    name: "key re-minted on restart",
    breaks: ["I2", "I3"],
    changes: [
      {
        file: "core/transition.ts",
        find: 'if (mint === "never" || isUncertain(record)) return record;',
        replace: `if (mint === "never") return record;
          if (record.history.at(-1)?.verdict === "abandoned") return rekey(record, event.mint(mint), event.at);
          if (isUncertain(record)) return record;`,
      },
    ],
  },
  {
    name: "lease without fence",
    breaks: ["fence", "I1", "I5", "I7"],
    changes: [
      {
        file: "core/transition.ts",
        find: "return record.lease !== undefined && record.fence === fence;",
        replace: "return record.lease !== undefined && fence > 0;",
      },
    ],
  },
  {
    name: "cancel after send",
    breaks: ["I5", "I1"],
    changes: [
      {
        file: "core/decisions.ts",
        find: 'if (record.sentAt !== undefined || isUncertain(record)) throw new MisuseError("already_sent", { record });',
        replace: "",
      },
    ],
  },
  {
    name: "409 final",
    breaks: ["I5"],
    changes: [
      {
        file: "core/classify.ts",
        find: 'verdict: () => ({ kind: "retry", certain: false, conflict: true })',
        replace: 'verdict: () => ({ kind: "refused", speaks: true })',
      },
    ],
  },
  {
    name: "retry past the window",
    breaks: ["I6"],
    changes: [
      {
        file: "core/moves.ts",
        find: "if (start === undefined) return Number.POSITIVE_INFINITY;",
        replace: "if (start !== 0) return Number.POSITIVE_INFINITY;",
      },
    ],
  },
  {
    name: "a refusal written relaxed",
    breaks: ["strict"],
    changes: [
      {
        file: "core/record.ts",
        find: 'return after.state !== before.state && after.state !== "succeeded";',
        replace: 'return after.state !== before.state && after.state !== "succeeded" && after.state !== "rejected";',
      },
    ],
  },
  {
    name: "late uncertainty dropped with a lost lease",
    breaks: ["I5", "I2", "I6"],
    changes: [
      {
        file: "core/transition.ts",
        find: "const found = record.mark ? remember(doubt(record),",
        replace: "const found = record.mark ? remember({ ...record, mark: undefined },",
      },
      {
        file: "core/answer.ts",
        find: "return changed(record, { uncertainSince: event.entry.at });",
        replace: "return record;",
      },
    ],
  },
  {
    name: "a front 403 taken as the outcome",
    breaks: ["I5"],
    changes: [
      {
        file: "core/answer.ts",
        find: 'if (verdict.speaks || !uncertain) return settle(known, "rejected"',
        replace: 'if (verdict.speaks || known) return settle(known, "rejected"',
      },
    ],
  },
  {
    name: "discarded in flight",
    breaks: ["decided", "I1"],
    changes: [
      {
        file: "core/decisions.ts",
        find: `  refuseInFlight(record, event.at);
  const ended = isUncertain(record)`,
        replace: "  const ended = isUncertain(record)",
      },
      { file: "client/operator.ts", find: " || (standing.mark && leases.isHeld(standing))", replace: "" },
    ],
  },
  {
    name: "reconciled in flight",
    seed: 399,
    breaks: ["decided", "I1"],
    changes: [
      {
        file: "core/decisions.ts",
        find: `  refuseInFlight(record, event.at);
  const ended =
    event.outcome`,
        replace: `  const ended =
    event.outcome`,
      },
      { file: "client/operator.ts", find: " || (standing.mark && leases.isHeld(standing))", replace: "" },
    ],
  },
  {
    name: "adopted in flight",
    seed: 156,
    breaks: ["decided", "I9", "I8"],
    changes: [
      {
        file: "core/decisions.ts",
        find: 'if (isInFlight(record)) throw new MisuseError("in_flight", { record });',
        replace: "",
      },
      {
        file: "client/operator.ts",
        find: "if (isTaken && (",
        replace: "if (false && (",
      },
    ],
  },
  {
    name: "sent after its deadline",
    breaks: ["deadline"],
    changes: [
      {
        file: "core/moves.ts",
        find: "if (at >= (record.deadline ?? Number.POSITIVE_INFINITY)) return false;",
        replace: "",
      },
    ],
  },
  {
    name: "the intent freed though the outcome is unknown",
    seed: 169,
    breaks: ["I3"],
    changes: [
      {
        file: "core/record.ts",
        find: `    case "unresolved":
      return record.resolution === undefined;
    default:`,
        replace: "    default:",
      },
    ],
  },
  {
    name: "a new key after 410 though the old one is uncertain",
    seed: 446,
    breaks: ["I2"],
    changes: [
      {
        file: "core/answer.ts",
        find: "if (isUncertain(record) || record.renewed || !isOurs(record)) {",
        replace: "if (record.renewed || !isOurs(record)) {",
      },
    ],
  },
];
