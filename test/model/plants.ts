/** A bug that somebody might make, as a change of the sources. */
export interface Plant {
  readonly name: string;
  /** Which invariants may find it. */
  readonly breaks: readonly string[];
  readonly changes: readonly Change[];
}

/** One change; what is replaced has to stand in the file exactly once. */
export interface Change {
  /** Below `src`. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

export const plants: readonly Plant[] = [
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
    name: "record after send",
    breaks: ["I1"],
    changes: [
      {
        file: "client/recorder.ts",
        find: "let inserted = await this.#insert(recording);",
        replace: `if (recording.record.mark) void this.#parts.worker.run(recording.record.id, { ...recording.record, seq: 0, rev: 0 });
          let inserted = await this.#insert(recording);`,
      },
    ],
  },
  {
    name: "settle on headers",
    breaks: ["success"],
    changes: [
      {
        file: "client/attempt.ts",
        find: "const body = await response.arrayBuffer();",
        replace: "const body = await response.arrayBuffer().catch(() => new ArrayBuffer(0));",
      },
    ],
  },
  {
    name: "lease without fence",
    breaks: ["fence", "I7"],
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
    breaks: ["I5"],
    changes: [
      {
        file: "core/decisions.ts",
        find: 'if (record.sentAt !== undefined || isUncertain(record)) throw new MisuseError("already_sent", { record });',
        replace: "",
      },
    ],
  },
  {
    name: "owner switched while credentials are fetched",
    breaks: ["I9"],
    changes: [{ file: "client/worker.ts", find: "          owners.mayAct(owner) &&\n", replace: "" }],
  },
  {
    name: "Retry-After lost on restart",
    breaks: ["Retry-After"],
    changes: [
      {
        file: "client/drain.ts",
        find: 'states: ["blocked" as const]',
        replace: 'states: ["blocked" as const, "pending" as const]',
      },
      {
        file: "client/drain.ts",
        find: 'records.filter(({ blockedBy }) => blockedBy === "credentials")',
        replace: 'records.filter(({ state, blockedBy }) => state === "pending" || blockedBy === "credentials")',
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
    breaks: ["I5", "I2"],
    changes: [
      {
        file: "core/transition.ts",
        find: "const found = record.mark ? remember(doubt(record),",
        replace: "const found = record.mark ? remember({ ...record, mark: undefined },",
      },
      {
        file: "core/answer.ts",
        find: "return { ...record, uncertainSince: event.entry.at };",
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
];
