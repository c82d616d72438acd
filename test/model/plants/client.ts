import type { Plant } from "./plant.js";

/** In what the client does, and its store. */
export const inTheClient: readonly Plant[] = [
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
    breaks: ["success", "I5"],
    changes: [
      {
        file: "client/attempt.ts",
        find: "() => controller.signal.throwIfAborted());",
        replace: "() => controller.signal.throwIfAborted()).catch(() => new ArrayBuffer(0));",
      },
    ],
  },
  {
    name: "owner switched while credentials are fetched",
    seed: 146,
    breaks: ["I9"],
    changes: [{ file: "client/exchange.ts", find: "        owners.mayAct(owner) &&\n", replace: "" }],
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
        find: 'return record.blockedBy === "credentials" ||',
        replace: 'return record.blockedBy === undefined || record.blockedBy === "credentials" ||',
      },
    ],
  },
  {
    name: "hook told before the write",
    breaks: ["strict"],
    changes: [
      {
        file: "client/worker.ts",
        find: "    journal.foretell(record, event);\n",
        replace: `    journal.foretell(record, event);
    const foretold = transition(record, event);
    if (hasOutcome(foretold) && foretold.lease) {
      void Promise.resolve(this.operationOf(record).options.settled?.(foretold)).catch(() => {});
    }\n`,
      },
    ],
  },
  {
    name: "refusals foretold",
    breaks: ["strict"],
    changes: [
      {
        file: "client/journal.ts",
        find: 'if (after.state !== "succeeded" || needsSync(record, after)) return;',
        replace: 'if (after.state !== "succeeded" && after.state !== "rejected") return;',
      },
    ],
  },
  {
    name: "another's attempt taken for one's own doubt",
    breaks: ["I5", "I7"],
    changes: [
      {
        file: "client/doubts.ts",
        find: "if (!found.mark || !this.#isOwn(found, own)) return found;",
        replace: "if (!found.mark) return found;",
      },
    ],
  },
  {
    name: "the server's clock read off anybody's answer",
    breaks: ["not too soon", "I6"],
    changes: [
      {
        file: "client/attempt.ts",
        find: "const serverDate = speaks ?",
        replace: "const serverDate = status > 0 ?",
      },
    ],
  },
  {
    name: "begun in time and sent too late",
    breaks: ["I6", "deadline"],
    changes: [
      {
        file: "client/exchange.ts",
        find: "        isTimely(record, clock.now(), serverTime()),",
        replace: "        true,",
      },
    ],
  },
  {
    name: "leases of the living relieved",
    breaks: ["I7"],
    changes: [
      {
        file: "client/leases.ts",
        find: "store.relieve((other) => seen.has(other) && isDead(other))",
        replace: "store.relieve((other) => seen.has(other))",
      },
    ],
  },
  {
    name: "leases not renewed",
    breaks: ["I7"],
    changes: [{ file: "client/leases.ts", find: "    void this.#renew();\n", replace: "" }],
  },
  {
    name: "claimed in the transaction that records it",
    seed: 339,
    breaks: ["I1"],
    changes: [{ file: "client/doubts.ts", find: "    this.#inserting.add(id);\n", replace: "" }],
  },
  {
    name: "a look answers for attempts that were made since",
    breaks: ["reconciled"],
    changes: [
      { file: "client/delivery.ts", find: " &&\n          standing.attempts === record.attempts;", replace: ";" },
    ],
  },
  {
    name: "what came of a purged operation written onto the next one of its id",
    breaks: ["success", "I5", "fence"],
    changes: [
      {
        file: "client/journal.ts",
        find: "base && base.seq !== record.seq ? record : transition",
        replace: "transition",
      },
    ],
  },
  {
    name: "the last of a lane set free first",
    breaks: ["lanes"],
    changes: [
      {
        file: "stores/memory/tables.ts",
        find: "const next = this.#select(behind)[0];",
        replace: "const next = this.#select(behind).at(-1);",
      },
    ],
  },
  {
    name: "nobody parked in a lane",
    breaks: ["lanes"],
    changes: [
      {
        file: "stores/memory/tables.ts",
        find: "const parked = occupiesLane(record as OperationRecord) && this.#front(record.owner, record.lane) !== undefined;",
        replace: "const parked = false;",
      },
    ],
  },
];
