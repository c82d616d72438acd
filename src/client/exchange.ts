import { isTimely } from "../core/moves.js";
import { type OperationRecord, windowMargin } from "../core/record.js";
import type { Mint } from "../core/transition.js";
import { type AttemptResult, attempt } from "./attempt.js";
import type { Deadlines } from "./deadlines.js";
import type { Journal } from "./journal.js";
import type { Leases } from "./leases.js";
import type { Live } from "./live.js";
import type { AttemptScope } from "./observers.js";
import type { ResolvedOperation, ResolvedOptions } from "./options.js";
import type { Origins } from "./origins.js";
import type { Owners } from "./owners.js";
import type { Platform } from "./platform-port.js";
import type { AttemptEnd } from "./telemetry.js";
import { type Ended, eventOf } from "./verdict.js";

/** What every exchange of an sdk is made with. */
export interface ExchangeParts {
  readonly options: ResolvedOptions;
  readonly platform: Platform;
  readonly journal: Journal;
  readonly leases: Leases;
  readonly owners: Owners;
  readonly origins: Origins;
  readonly fetch: typeof globalThis.fetch;
  readonly baseOrigin: () => string | undefined;
}

/** What one exchange with the server needs to know of its worker. */
export interface ExchangeContext {
  readonly parts: ExchangeParts;
  readonly operation: ResolvedOperation;
  readonly deadlines: Deadlines;
  readonly controller: AbortController;
  readonly isClosed: () => boolean;
  readonly serverTime: () => number | undefined;
  readonly mint: Mint;
}

/** What came of it. */
export interface Exchange {
  readonly result: AttemptResult;
  /** What it means for the record. */
  readonly event: Ended;
  readonly ended: AttemptEnd;
}

/** Makes the attempt of a marked record, and judges how it ended. Never rejects. */
export async function exchange(
  record: OperationRecord,
  context: ExchangeContext,
  scope?: AttemptScope,
): Promise<Exchange> {
  const { parts, operation, deadlines, controller, isClosed, serverTime, mint } = context;
  const { options, platform, journal, leases, owners, origins, fetch } = parts;
  const { clock } = options;
  const startedAt = clock.now();
  const lives = journal.livesOf(record.id);
  const hints = lives.find(({ draft }) => draft?.hints)?.draft?.hints;
  let result: AttemptResult;
  try {
    result = await attempt(record, {
      operation,
      // The platform may have no context that outlives the wait for `headers()`.
      fetch: scope ? (input, init) => scope.run(() => fetch(input, init)) : fetch,
      clock,
      deadline: (ms, late) => deadlines.set(ms, late),
      seesRedirects: platform.seesRedirects,
      // A dispatcher of the call's may send again by itself.
      provesUnsent: (error) => platform.provesUnsent(error, options.hasCustomFetch || hasDispatcher(hints)),
      baseOrigin: parts.baseOrigin(),
      traced: scope?.headers,
      transient: transientOf(record, lives),
      hints,
      mayBeSent: ({ owner }) =>
        !isClosed() &&
        !controller.signal.aborted &&
        owners.mayAct(owner) &&
        leases.lasts(record) &&
        isTimely(record, clock.now(), serverTime()),
      controller,
    });
  } catch (error) {
    result = { signal: { kind: "thrown" }, health: "unknown", error };
  }
  const endedAt = clock.now();
  // The server's clock was read at some time in between: one that errs by more than half the margin bounds no window.
  const isClose = 2 * Math.abs(endedAt - startedAt) <= windowMargin(record.wire.retention);
  if (isClose && result.serverDate !== undefined) origins.learnClock(record.origin, result.serverDate, endedAt);
  const waiting = journal.livesOf(record.id).some((live) => live.waiting > 0);
  const event = eventOf(record, operation, result, options, { startedAt, serverAt: serverTime(), mint, waiting });
  return { result, event, ended: { ...event.entry, replayed: result.response?.replayed ?? false } };
}

/** Headers of the call that are not kept. They are its owner's, and not for whoever has adopted the operation. */
function transientOf({ owner }: OperationRecord, lives: readonly Live[]): Headers | undefined {
  return lives.find(({ draft }) => draft?.transient && draft.owner === owner)?.draft?.transient;
}

/** As Node's fetch takes one: a proxy, an agent, or what retries. */
function hasDispatcher(hints: RequestInit | undefined): boolean {
  return (hints as { readonly dispatcher?: unknown } | undefined)?.dispatcher !== undefined;
}
