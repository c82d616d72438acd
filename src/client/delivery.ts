import { faultPoint } from "../core/fault-point.js";
import type { OperationRecord } from "../core/record.js";
import { transition } from "../core/transition.js";
import { type ReaderParts, readerOf } from "./api-reader.js";
import type { Journal } from "./journal.js";
import type { ResolvedOperation } from "./options.js";
import { mustBeOpen } from "./sealed.js";

const RETRY = 1_000;
const RETRY_CAP = 15 * 60_000;

/** What hooks are called with. */
export interface DeliveryParts extends ReaderParts {
  readonly journal: Journal;
}

/**
 * Hands a claimed record that has an outcome to its operation's hooks: `reconcile`, its own or its profile's, may resolve
 * an unknown outcome, `settled` is told. Whatever throws is called again later, so that `settled` gets every record at
 * least once.
 */
export async function deliver(
  record: OperationRecord,
  operation: ResolvedOperation,
  parts: DeliveryParts,
): Promise<OperationRecord> {
  const { journal, options } = parts;
  const { clock, log } = options;
  const { settled } = operation.options;
  const reconcile = operation.options.reconcile ?? operation.profile?.reconcile;
  const { id, name, fence } = record;
  try {
    // Left for a deploy that declares the operation: its hook may be owed this record.
    if (!operation.declared) throw undeclared;
    // It is called with all there is, or later.
    if (settled || reconcile) mustBeOpen(record);
    let resolved = record;
    if (reconcile && record.state === "unresolved" && !record.resolution) {
      const outcome = await reconcile(record, readerOf(record, operation, parts));
      if (outcome === "applied" || outcome === "not-applied") {
        const event = { type: "reconcile", at: clock.now(), outcome, hook: settled !== undefined } as const;
        // It answers for the attempts that there were when it was asked, and for none that was made since.
        const isAsAsked = (standing: OperationRecord): boolean =>
          standing.seq === record.seq &&
          standing.state === "unresolved" &&
          !standing.resolution &&
          standing.attempts === record.attempts;
        const apply = (standing: OperationRecord): OperationRecord =>
          isAsAsked(standing) ? transition(standing, event) : standing;
        const after = await journal.update(id, apply);
        if (after?.resolution) resolved = after;
      }
    }
    FAULT: faultPoint("deliver:before");
    await settled?.(resolved);
    FAULT: faultPoint("deliver:after");
    return (await journal.change(id, { type: "deliver", at: clock.now(), delivered: resolved }, resolved)) ?? resolved;
  } catch (cause) {
    if (cause !== undeclared) log({ level: "error", message: "a settled hook failed", id, name, cause });
    const delay = cause === undeclared ? RETRY_CAP : Math.min(RETRY_CAP, Math.max(RETRY, record.delay * 2));
    return (await journal.change(id, { type: "postpone", at: clock.now(), fence, delay }, record)) ?? record;
  }
}

const undeclared = new Error("samekey: the operation is not declared here");
