/**
 * The record of one operation, as every store keeps it. Plain scalars, plain objects and `ArrayBuffer`s only, so that
 * it survives structured cloning and SQL alike. Times are milliseconds since the Unix epoch, lengths milliseconds.
 */

/**
 * Where an operation stands.
 *
 * - `pending`: will be attempted at `nextAttemptAt`
 * - `blocked`: alive, but needs someone (see {@link BlockedBy})
 * - `succeeded`: a 2xx whose whole body arrived
 * - `rejected`: refused, nothing applied
 * - `misused`: the program is wrong, nothing applied
 * - `expired`: given up with certainty that nothing was applied
 * - `canceled`: withdrawn before it was ever sent
 * - `unresolved`: given up with the outcome unknown; a dead letter
 */
export type State =
  | "pending"
  | "blocked"
  | "succeeded"
  | "rejected"
  | "misused"
  | "expired"
  | "canceled"
  | "unresolved";

/** Every {@link State}, in the order in which they are documented. */
export const STATES: readonly State[] = [
  "pending",
  "blocked",
  "succeeded",
  "rejected",
  "misused",
  "expired",
  "canceled",
  "unresolved",
];

/** Those of operations that may still need work, or a person. */
export const OPEN_STATES: readonly State[] = ["pending", "blocked", "unresolved"];

/** What a blocked operation waits for. */
export type BlockedBy = "credentials" | "redirected" | "refused" | "headers" | "operation" | "sealed";

/** That a part of a record is sealed: as it stands in the store, and where whoever read it could not open it. */
export interface Sealed {
  /** The id of the key that it is sealed under. */
  readonly key: string;
  /** Why the seal could not open it, as it goes on behind a comma; absent where nobody tried. Never stored. */
  readonly why?: string | undefined;
}

/** The request as it was recorded; the body's bytes never change. */
export interface StoredRequest {
  readonly method: string;
  /** Absolute. */
  readonly url: string;
  /** Only headers on the allow-list; never credentials. Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** Names of headers that were on the request and are not kept. */
  readonly dropped: readonly string[];
  readonly body?: ArrayBuffer | undefined;
  readonly contentType?: string | undefined;
  /** How two bodies compare: `json` as canonical JSON, `raw` byte by byte. */
  readonly compare: "json" | "raw";
  readonly credentials?: "omit" | "same-origin" | "include" | undefined;
  /** The body is sealed. */
  readonly sealed?: Sealed | undefined;
}

/** How the key travels, as recorded: a later deploy cannot change it for this operation. */
export interface Wire {
  /** In a header, in a member of the JSON body, in the query, or not at all. */
  readonly place: "header" | "body" | "query" | "none";
  /** The name of the header (lower case), the body's member or the query's parameter. */
  readonly name: string;
  /** The rendered value: the key itself, or quoted as a structured-field string. */
  readonly value: string;
  readonly quoted: boolean;
  /** Which key samekey may mint anew; `never` for keys that the caller gave or the intent derives. */
  readonly mint: "v7" | "v4" | "never";
  /** How long the server remembers a key, in milliseconds. */
  readonly retention: number;
  readonly redirect: "manual" | "same-origin";
  /** Whether the API deduplicates by key at all; if not, it is retried only while provably unsent. */
  readonly dedupes: boolean;
  /** The header (lower case) that tells when the key was first sent. */
  readonly firstSent?: string | undefined;
  /** The name of the profile that its answers are read by. Only a program that has it works on the record. */
  readonly profile?: string | undefined;
}

/** Who is working on the operation, and until when. */
export interface Lease {
  readonly holder: string;
  readonly until: number;
  readonly length: number;
  /** When it ends by the steady clock of its holder's machine, where that has one. */
  readonly steady?: number | undefined;
}

/** An attempt that may be under way. */
export interface Mark {
  readonly at: number;
  readonly attempt: number;
  /** No earlier attempt was sent under this key. */
  readonly first?: boolean | undefined;
}

/** One attempt, as remembered in {@link OperationRecord.history}. */
export interface AttemptEntry {
  readonly at: number;
  readonly ms: number;
  /** What the answer meant; see `classify`. */
  readonly verdict: string;
  readonly status?: number | undefined;
  readonly cause?: string | undefined;
}

/** The answer that settled the operation. */
export interface StoredResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: ArrayBuffer | undefined;
  /** The server said that it answered from its own record. */
  readonly replayed: boolean;
  /** The body had more bytes than this, which `maxResponse` was: none of it was kept. */
  readonly exceeded?: number | undefined;
  /** The body was dropped at the end of its keep time. */
  readonly pruned?: boolean | undefined;
  /** Headers and body are sealed; both are in `body`. */
  readonly sealed?: Sealed | undefined;
}

/** How a person ended an operation whose outcome was unknown. */
export interface Resolution {
  readonly how: "discarded" | "applied" | "not-applied";
  readonly reason?: string | undefined;
  readonly at: number;
}

/** One operation. Owned by `transition`; everything else only reads it. */
export interface OperationRecord {
  /** Version of this shape. */
  readonly v: 1;
  /** Local identity (UUIDv7), stable for ever. */
  readonly id: string;
  /** The idempotency key, unique per owner and origin. */
  readonly key: string;
  /** When the key was minted. */
  readonly keyAt: number;
  readonly name: string;
  readonly intent?: string | undefined;
  readonly owner: string;
  readonly lane?: string | undefined;
  /** Store-assigned order. */
  readonly seq: number;
  /** Counts the writes of this record. */
  readonly rev: number;
  /** The request's origin, by which keys are unique and outages are counted. */
  readonly origin: string;
  readonly request: StoredRequest;
  readonly wire: Wire;
  /** `algorithm:digest` of the comparable request, or that sealed; set when the body is dropped. */
  readonly hash?: string | undefined;
  readonly state: State;
  readonly blockedBy?: BlockedBy | undefined;
  /** Why it is in this state: an error code. */
  readonly code?: string | undefined;
  /** Attempts started, provably unsent ones included. */
  readonly attempts: number;
  /** Of those, how many do not count towards the limit: `fetch` was never called. */
  readonly unmade?: number | undefined;
  /** Attempts that ran into their own time-out. */
  readonly timeouts: number;
  /** The last 20. */
  readonly history: readonly AttemptEntry[];
  readonly mark?: Mark | undefined;
  /** Since when an attempt may have been sent under this key; unset while provably never sent. */
  readonly sentAt?: number | undefined;
  /** Start of the first attempt that may have been applied. */
  readonly uncertainSince?: number | undefined;
  /** The server's clock at `sentAt`, where a speaking answer has told it. */
  readonly serverSince?: number | undefined;
  /** Since when the server has answered with an unexplained 409. */
  readonly conflictSince?: number | undefined;
  /** The key was minted anew after the server called it expired; done at most once. */
  readonly renewed?: boolean | undefined;
  readonly createdAt: number;
  readonly nextAttemptAt: number;
  /** Length of the wait that ends at `nextAttemptAt`. */
  readonly delay: number;
  readonly deadline?: number | undefined;
  readonly lease?: Lease | undefined;
  /** Counts the claims; an attempt acts only under the fence it was claimed with. */
  readonly fence: number;
  /** Stands behind another operation of its lane. Set and cleared by the store only. */
  readonly parked?: boolean | undefined;
  readonly response?: StoredResponse | undefined;
  readonly resolution?: Resolution | undefined;
  readonly settledAt?: number | undefined;
  /** The operation's `settled` hook has had it (or there is none). */
  readonly delivered: boolean;
  /** Where the call that recorded it stood in a trace, as W3C Trace Context writes it. */
  readonly traceparent?: string | undefined;
  readonly reissueOf?: string | undefined;
}

/** An operation that no store has seen yet. */
export type NewRecord = Omit<OperationRecord, "seq" | "rev">;

/** Who alone can read the record's answers, as one text: its operation, under the profile it was recorded by. Empty: anyone. */
export function readerOf({ name, wire }: Pick<OperationRecord, "name" | "wire">): string {
  return wire.profile === undefined ? "" : JSON.stringify([wire.profile, name]);
}

/** Whether the operation has ended; an unresolved one has only once someone discarded it. */
export function isSettled(record: Pick<OperationRecord, "state" | "resolution">): boolean {
  if (record.state === "unresolved") return record.resolution !== undefined;
  return record.state !== "pending" && record.state !== "blocked";
}

/** Whether anything that was sent may have been applied without our knowing. */
export function isUncertain(record: Pick<OperationRecord, "uncertainSince" | "mark">): boolean {
  return record.uncertainSince !== undefined || record.mark !== undefined;
}

/** Whether the server has applied it, by all that is known here. */
export function wasApplied(record: Pick<OperationRecord, "state" | "uncertainSince" | "mark">): "yes" | "maybe" | "no" {
  if (record.state === "succeeded") return "yes";
  return record.state === "unresolved" || (!hasOutcome(record) && isUncertain(record)) ? "maybe" : "no";
}

/** Where its outcome comes from: the effect itself, the server's record of it, or no answer at all. */
export function sourceOf({ response }: Pick<OperationRecord, "response">): "executed" | "replayed" | "none" {
  if (!response) return "none";
  return response.replayed ? "replayed" : "executed";
}

/**
 * Whether the operation still holds its intent and its key. Freed by a certain "nothing was applied"; an unknown
 * outcome holds them until someone resolves it.
 */
export function holdsIntent(record: OperationRecord): boolean {
  switch (record.state) {
    case "pending":
    case "blocked":
    case "succeeded":
      return true;
    case "misused":
      // The server knows the key from a request that may have been applied.
      return record.code === "key_reused" && record.resolution === undefined;
    case "unresolved":
      return record.resolution === undefined;
    default:
      return false;
  }
}

/** Whether those behind it in its lane have to wait. */
export function occupiesLane(record: OperationRecord): boolean {
  return record.lane !== undefined && !isSettled(record);
}

/**
 * By how much a clock may lag without having jumped back, in milliseconds: those of two tabs differ a little, and a
 * store gets to look some time after `now` was read.
 */
const LAG = 10_000;

/** What a sealed hash begins with: `sealed:`, the key's id, `:` and base64. */
export const SEALED_HASH = "sealed:";

/** The id of the key that the hash is sealed under; `undefined` for one in the clear. */
export function keyOfSealedHash(hash: string | undefined): string | undefined {
  return hash?.startsWith(SEALED_HASH) ? hash.split(":", 2)[1] : undefined;
}

/** When a record is next due, and a time before which the clock cannot stand unless it has jumped back. */
export interface Schedule {
  readonly due: number;
  readonly since: number;
}

/** The margin by which the end of a key's window is brought forward, in milliseconds. */
export function windowMargin(retention: number): number {
  return Math.min(5 * 60_000, Math.ceil(retention / 10));
}

/** Since when the server may be counting the key's window, as far as it bounds the attempts that are left. */
export function windowStart(record: OperationRecord): number | undefined {
  const { uncertainSince, mark, sentAt, wire } = record;
  // A key that nothing was applied under can be minted anew, unless it is not ours to mint.
  if (uncertainSince === undefined && mark === undefined && wire.mint !== "never") return undefined;
  // The server may have known the key since an attempt that was refused for certain: what is in front of it need not forget.
  const times = [sentAt, uncertainSince, mark?.at].filter((time) => time !== undefined);
  return times.length > 0 ? Math.min(...times) : undefined;
}

/** The time from which on no attempt may start because of the key, if there is one. */
export function windowEnd(record: OperationRecord): number | undefined {
  const start = windowStart(record);
  return start === undefined ? undefined : start + record.wire.retention - windowMargin(record.wire.retention);
}

/**
 * When the record needs work again: an attempt, the end of its window, or its `settled` hook. Nothing while it is
 * parked in a lane, or when there is nothing left to do. Stores index both times.
 */
export function scheduleOf(record: OperationRecord): Schedule | undefined {
  if (record.parked) return undefined;
  if (record.lease) return { due: record.lease.until, since: record.lease.until - record.lease.length - LAG };
  if (record.state === "pending" || (hasOutcome(record) && !record.delivered)) {
    return { due: record.nextAttemptAt, since: record.nextAttemptAt - record.delay - LAG };
  }
  if (record.state === "blocked") {
    const end = Math.min(windowEnd(record) ?? Number.POSITIVE_INFINITY, record.deadline ?? Number.POSITIVE_INFINITY);
    return Number.isFinite(end) ? { due: end, since: 0 } : undefined;
  }
  return undefined;
}

/** Whether someone holds the record by a lease that is not over. One from the future is: the clock has jumped back. */
export function isHeld({ lease }: Pick<OperationRecord, "lease">, now: number): boolean {
  return lease !== undefined && lease.until > now && lease.until - lease.length - LAG <= now;
}

/** Whether the time of its next attempt, or hook, has come. A wait that began in the future is over. */
export function isDue({ nextAttemptAt, delay }: OperationRecord, now: number): boolean {
  return nextAttemptAt <= now || nextAttemptAt - delay - LAG > now;
}

const HOUR = 3_600_000;

/** Whether its next attempt is so far off that a person should know. No wait of samekey's own is, unless options say so. */
export function waitsLong({ state, delay }: Pick<OperationRecord, "state" | "delay">): boolean {
  return state === "pending" && delay > HOUR;
}

/** Whether the `settled` hook is owed this record: settled, or unresolved. */
export function hasOutcome(record: Pick<OperationRecord, "state">): boolean {
  return record.state !== "pending" && record.state !== "blocked";
}

/** Whether something stands there under another key now: whoever is told so may throw the old one away. */
function isResealed(before: OperationRecord, after: OperationRecord): boolean {
  const [was, is] = [before, after].map(({ request, response, hash }) => {
    return [request.sealed?.key, response?.sealed?.key, keyOfSealedHash(hash)];
  });
  return is?.some((key, index) => key !== undefined && was?.[index] !== undefined && was[index] !== key) === true;
}

/** Since when the record may be pruned: it is over, and its hook has had it. */
export function prunableSince(record: OperationRecord): number | undefined {
  return isSettled(record) && record.delivered ? record.settledAt : undefined;
}

/** Whether only the memory of its intent is left. */
export function isBare(record: Pick<OperationRecord, "hash">): boolean {
  return record.hash !== undefined;
}

/**
 * Whether a write must be synced before anyone acts on it. Everything but `succeeded` and rescheduling: losing those
 * costs one replay.
 */
export function needsSync(before: OperationRecord | undefined, after: OperationRecord): boolean {
  if (before === undefined) return true;
  // A retry of something already uncertain adds no risk: the durable record says "may have been applied" already.
  if (isUncertain(after) && !isUncertain(before)) return true;
  if (after.key !== before.key || after.owner !== before.owner) return true;
  if (after.resolution !== before.resolution || isResealed(before, after)) return true;
  return after.state !== before.state && after.state !== "succeeded";
}
