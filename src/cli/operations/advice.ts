import { isUncertain, type OperationRecord, windowEnd } from "../../core/record.js";

const onHold: Readonly<Record<string, string>> = {
  credentials: "it waits for credentials: it goes on when its owner signs in, or by `samekey resume --sdk …`",
  redirected: "the endpoint redirects: mend the URL in the program, then `samekey retry`",
  refused:
    "something in front of the key refused it while an earlier attempt may have been applied. Mend that, then `samekey retry`",
  headers: "it needs headers that are never stored: the program has to supply them",
  operation: "no running program declares this operation",
};

/** What a person can do about an operation now, in the order in which it should be thought of. */
export function advise(record: OperationRecord, now: number): readonly string[] {
  const { id, state, resolution, blockedBy = "" } = record;
  const end = windowEnd(record);
  const isOpen = end === undefined || end > now;
  if (state === "blocked") return [onHold[blockedBy] ?? `it waits for someone: ${blockedBy}`, give(id)];
  if (state === "unresolved" && !resolution) {
    return [
      "find out from the server, by its key, whether it was applied; then",
      `samekey reconcile ${id} applied`,
      `samekey reconcile ${id} not-applied`,
      ...(isOpen
        ? [`or, while the server remembers the key, ask it again under the same one: samekey retry ${id}`]
        : [
            "the server may have forgotten the key: to send it again under the same one could apply it twice",
            `if it was not applied and still shall be: samekey reissue ${id} --sdk ./sdk.js --after-reconciling "…"`,
          ]),
      give(id),
    ];
  }
  if (state === "pending" && isUncertain(record)) {
    return ["an attempt may have been applied; it is sent again under the same key. Nothing needs to be done"];
  }
  return [];
}

const give = (id: string): string => `or give it up, its outcome unknown: samekey discard ${id} --reason "…"`;
