import { isUncertain, type OperationRecord, waitsLong, windowEnd } from "../../core/record.js";

const onHold: Readonly<Record<string, string>> = {
  credentials: "it waits for credentials: it goes on when its owner signs in, or by `samekey resume --sdk …`",
  redirected: "the endpoint redirects: mend the URL in the program, then `samekey retry`",
  refused:
    "something in front of the key refused it while an earlier attempt may have been applied. Mend that, then `samekey retry`",
  headers: "it needs headers that are never stored: the program has to supply them",
  sealed:
    "its body is sealed under a key that the program which took it does not have: give it that key, and it goes on by itself",
  operation: "no running program declares this operation",
};

/**
 * What a person can do about an operation now, in the order in which it should be thought of.
 *
 * @param place - the options that name the store, so that the commands can be pasted
 */
export function advise(record: OperationRecord, now: number, place: string): readonly string[] {
  const { id, state, resolution, blockedBy = "" } = record;
  const command = (verb: string, ...rest: string[]): string => ["samekey", verb, id, ...rest, place].join(" ");
  const end = windowEnd(record);
  const isOpen = end === undefined || end > now;
  const giveUp = `or give it up${isUncertain(record) ? ", its outcome unknown" : ""}: ${command("discard", '--reason "…"')}`;
  if (state === "blocked") return [onHold[blockedBy] ?? `it waits for someone: ${blockedBy}`, giveUp];
  if (state === "unresolved" && !resolution) {
    return [
      ...(isOpen ? [`while the server remembers the key, ask it again under the same one: ${command("retry")}`] : []),
      `${isOpen ? "or " : ""}find out from the server, by its key, whether it was applied; then`,
      command("reconcile", "applied"),
      command("reconcile", "not-applied"),
      ...(isOpen
        ? []
        : [
            "the server may have forgotten the key: to send it again under the same one could apply it twice",
            `if it was not applied and still shall be: ${command("reissue", '--after-reconciling "…"')}`,
          ]),
      giveUp,
    ];
  }
  if (waitsLong(record))
    return [`it waits because the server asked for it; to try at once all the same: ${command("retry")}`];
  if (state === "pending" && isUncertain(record)) {
    return ["an attempt may have been applied; it is sent again under the same key. Nothing needs to be done"];
  }
  return [];
}
