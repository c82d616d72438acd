import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Duration } from "../core/durations.js";
import type { ApiReader, Finding, Profile } from "../core/profile.js";
import type { Random } from "../core/random.js";
import type { OperationRecord } from "../core/record.js";
import type { CallerTransaction, Clock, Seal, Store } from "../store.js";
import type { Telemetry } from "./telemetry.js";

/** A value, or a promise of one. */
export type Awaitable<T> = T | PromiseLike<T>;

/** What a {@link HeadersProvider} is told about the attempt that needs headers. */
export interface AttemptContext {
  readonly owner: string;
  /** The operation's name. */
  readonly name: string;
  readonly url: string;
  readonly id: string;
  /** Counts from 1. */
  readonly attempt: number;
  /** Aborted when the attempt ends. */
  readonly signal: AbortSignal;
}

/** Plain headers. */
export type HeaderMap = Readonly<Record<string, string>>;

/**
 * Headers for one attempt, credentials included; asked before every attempt and never stored. `null` says that there
 * are no credentials now: the operation is blocked. A throw means no attempt now; it is retried.
 */
export type HeadersProvider = (context: AttemptContext) => Awaitable<HeaderMap | Headers | null | undefined>;

/** How attempts are spaced and bounded. */
export interface RetryOptions {
  /** The most attempts. @defaultValue unbounded: the key's life and `deadline` end it */
  readonly attempts?: number | undefined;
  /** The bound of the first wait. @defaultValue 500 ms */
  readonly base?: Duration | undefined;
  /** The longest wait while someone waits. @defaultValue 30 s */
  readonly cap?: Duration | undefined;
  /** The longest wait in the background. @defaultValue 15 min */
  readonly backgroundCap?: Duration | undefined;
}

/** Options that hold for a whole Sdk and may be said again for one operation. */
export interface SharedOptions {
  /** How long the server remembers a key. Required unless a profile knows it. */
  readonly retention?: Duration | undefined;
  readonly profile?: Profile | undefined;
  readonly retry?: RetryOptions | undefined;
  /** The longest an attempt may take, body included; doubles after each time-out, up to 2 min. @defaultValue 30 s */
  readonly attemptTimeout?: Duration | undefined;
  /** How long `send` waits. @defaultValue unbounded */
  readonly wait?: Duration | undefined;
  /** The largest body, in bytes. @defaultValue 4 MiB */
  readonly maxBody?: number | undefined;
  /**
   * The most bytes of an answer's body that are read, unpacked; at least 65,536. A longer one is not kept: what its status
   * says holds, and a success is told as `ResultError("unreadable")`.
   *
   * @defaultValue 16 MiB
   */
  readonly maxResponse?: number | undefined;
  readonly headers?: HeadersProvider | undefined;
  /** As in fetch. @defaultValue the platform's */
  readonly credentials?: "omit" | "same-origin" | "include" | undefined;
}

/** Options of one operation, given to {@link post} and its siblings. */
export interface OperationOptions<Body, Result, Failure> extends SharedOptions {
  /** Validates the body before anything is recorded; must be synchronous. */
  readonly body?: StandardSchemaV1<Body, unknown> | undefined;
  /** Validates a success's body. */
  readonly result?: StandardSchemaV1<unknown, Result> | undefined;
  /** Validates a refusal's body, for `error.data`. */
  readonly error?: StandardSchemaV1<unknown, Failure> | undefined;
  /** `"required"` makes a call without an intent a type error. @defaultValue `"optional"` */
  readonly intent?: "required" | "optional" | undefined;
  /** `"from-intent"` derives the key, so that a lost store or another device repeats it. @defaultValue `"minted"` */
  readonly key?: "minted" | "from-intent" | undefined;
  /**
   * Names of headers that carry meaning and no secret, kept with the record. Standard ones such as `accept`, `content-type`,
   * `prefer` and `if-match` are kept anyway.
   */
  readonly keepHeaders?: readonly string[] | undefined;
  /**
   * Names of headers that carry no meaning; one may end in `*`. They are sent while this process lives, and an attempt after a
   * restart does without them. `user-agent`, `x-stainless-*` and those of tracing are taken as such anyway.
   */
  readonly ignoreHeaders?: readonly string[] | undefined;
  /** What to do when the intent is recorded with another body. @defaultValue `"throw"` */
  readonly onIntentMismatch?: "throw" | "keep-first" | undefined;
  /** What a 409 without `Retry-After` or an in-progress code means. @defaultValue `"in-progress"` */
  readonly conflict?: "in-progress" | "rejected" | undefined;
  /** What a 422 that is not about the key means. @defaultValue `"misused"` */
  readonly unprocessable?: "misused" | "rejected" | undefined;
  /** Called at least once for every settled or unresolved record, across restarts, until it resolves. */
  readonly settled?: ((record: OperationRecord) => Awaitable<unknown>) | undefined;
  /**
   * Asks the API whether an operation of unknown outcome was applied, with `api.get`: as the operation's owner, with fresh
   * credentials. Where it throws it is asked again later. @defaultValue the profile's own look-up, where it has one
   */
  readonly reconcile?: ((record: OperationRecord, api: ApiReader) => Awaitable<Finding>) | undefined;
}

/** One declared operation; made by {@link post}, {@link put}, {@link patch} or {@link del}. */
export interface OperationDefinition<
  Body = unknown,
  Result = unknown,
  Failure = unknown,
  Intent extends "required" | "optional" = "optional" | "required",
> {
  readonly method: "POST" | "PUT" | "PATCH" | "DELETE";
  /**
   * Below `baseUrl`, or an absolute URL. A function puts parts of the body into it and has to pass them through
   * `encodeURIComponent`: nothing is encoded for it, and `..` leads upwards as in any URL. The whole body is sent as well.
   */
  readonly path: string | ((body: Body) => string);
  readonly options: OperationOptions<Body, Result, Failure>;
  /** Carries the types; never set. */
  readonly "~types"?: {
    readonly body: Body;
    readonly result: Result;
    readonly failure: Failure;
    readonly intent: Intent;
  };
}

/** A definition of any body, result and failure. */
// biome-ignore lint/suspicious/noExplicitAny: the one place where any definition must fit, whatever its body.
export type AnyDefinition = OperationDefinition<any, any, any, any>;

/** The declared operations, by name. */
export type Operations = Readonly<Record<string, AnyDefinition>>;

/** The types that a definition carries. */
export type TypesOf<D extends AnyDefinition> = NonNullable<D["~types"]>;

/** One line of the log; never bodies or header values. */
export interface LogEntry {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly message: string;
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  readonly cause?: unknown;
}

/** Options of {@link createSdk}. */
export interface SdkOptions<Ops extends Operations = Operations> extends SharedOptions {
  /** Names the local store: 1–64 of letters, digits, `.`, `_`, `-`. */
  readonly name: string;
  /** What relative paths start from. @defaultValue in browsers the page's origin */
  readonly baseUrl?: string | undefined;
  readonly operations?: Ops | undefined;
  /** Whose operations these are, asked whenever it matters; `"single"` for programs with one user. */
  readonly owner: "single" | (() => string | null | undefined);
  /**
   * Reads what the server publishes at `/.well-known/idempotency` of `baseUrl`'s origin, in the background and without
   * credentials: no send waits for it. A shorter retention than the configured one is then kept to; nothing else changes.
   *
   * @defaultValue false
   */
  readonly discover?: boolean | undefined;
  /** How long a settled record is kept. @defaultValue 30 d */
  readonly keepFor?: Duration | undefined;
  /** How long a settled intent is remembered after that. @defaultValue 1 y */
  readonly rememberIntents?: Duration | undefined;
  /**
   * How many operations may be pending or blocked at once, in the whole store, whoever they are. One more is refused with
   * `StoreError("store_full")`: nothing is recorded or sent. To join one that is recorded already is always possible.
   *
   * @defaultValue unbounded
   */
  readonly maxPending?: number | undefined;
  /** The most attempts at once. @defaultValue 6 in browsers, 32 in Node */
  readonly concurrency?: number | undefined;
  /**
   * Where records are kept. Sdks of one name may be given the same one, and the last of them closes it.
   *
   * @defaultValue IndexedDB in browsers, SQLite in Node
   */
  readonly store?: Store | undefined;
  /** Seals bodies and answers before they reach the store; see `webCryptoSeal` of `samekey/seal`. @defaultValue they are stored as they are */
  readonly seal?: Seal | undefined;
  readonly fetch?: typeof globalThis.fetch | undefined;
  readonly clock?: Clock | undefined;
  /** Random bytes for keys and jitter. @defaultValue `crypto.getRandomValues` */
  readonly random?: Random | undefined;
  /** @defaultValue silent */
  readonly log?: ((entry: LogEntry) => void) | undefined;
  /** Who follows its work: see `samekey/telemetry`. */
  readonly telemetry?: Telemetry | readonly Telemetry[] | undefined;
}

/** Options of one call. */
export interface CallOptions {
  /** The caller's own name for what is being done: the bridge over reloads, double clicks and re-run jobs. */
  readonly intent?: string | undefined;
  /** The local id. @defaultValue a new UUIDv7 */
  readonly id?: string | undefined;
  /** The idempotency key: 1–255 visible ASCII. @defaultValue a new UUIDv7 */
  readonly key?: string | undefined;
  /** @defaultValue what `owner` of createSdk says */
  readonly owner?: string | undefined;
  /** Operations of one (owner, lane) are sent one after the other. */
  readonly lane?: string | undefined;
  /** Headers for this call; only those on the allow-list outlive this process. */
  readonly headers?: HeaderMap | Headers | undefined;
  /** From now; no attempt starts later. */
  readonly deadline?: Duration | undefined;
}

/** Options of `save`. */
export interface SaveOptions {
  /**
   * Records it on a transaction of yours, in the database of {@link SdkOptions.store}: it commits with what else you write
   * there, or not at all. Nothing is sent before, and `saved` is told once the commit is seen.
   */
  readonly tx?: CallerTransaction | undefined;
}

/** Options of `send`. */
export interface SendOptions {
  /** Ends the waiting, not the operation: `send` rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
  /** Ends the waiting after so long with `PendingError("pending")`. @defaultValue the operation's `wait` */
  readonly wait?: Duration | undefined;
}

/** A success. */
export interface SendResult<Result = unknown> {
  readonly id: string;
  readonly key: string;
  readonly status: number;
  readonly data: Result;
  readonly headers: Headers;
  /** `executed` now, `replayed` by the server from its record, or answered from the local `store`. */
  readonly source: "executed" | "replayed" | "store";
  readonly attempts: number;
}
