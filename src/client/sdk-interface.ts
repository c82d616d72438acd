import type { Duration } from "../core/durations.js";
import type { OperationRecord, State } from "../core/record.js";
import type { Counts, ResealReport } from "../store.js";
import type { ResumeReport } from "./drain.js";
import type { SdkFetch } from "./fetch.js";
import type { OperationHandle } from "./handle.js";
import type { PendingList } from "./pending.js";
import type { StorageStatus } from "./room.js";
import type { SdkEvents } from "./sdk-events.js";
import type { AnyDefinition, CallOptions, Operations, TypesOf } from "./types.js";

/** The arguments that follow an operation's name: the body unless it may be absent, the intent where it is required. */
export type CallArguments<D extends AnyDefinition> = "required" extends TypesOf<D>["intent"]
  ? [body: TypesOf<D>["body"], options: CallOptions & { readonly intent: string }]
  : undefined extends TypesOf<D>["body"]
    ? [body?: TypesOf<D>["body"], options?: CallOptions]
    : [body: TypesOf<D>["body"], options?: CallOptions];

/** Narrows `list`. */
export interface ListFilter {
  /** `"*"` for everyone's. @defaultValue the present owner */
  readonly owner?: string | undefined;
  readonly name?: string | undefined;
  readonly intent?: string | undefined;
  readonly lane?: string | undefined;
  readonly states?: readonly State[] | undefined;
}

/** Options of `resume`. */
export interface ResumeOptions {
  /** Whose; `"*"` sends each record as its recorded owner. @defaultValue the present owner */
  readonly owner?: string | undefined;
  /** @defaultValue 30 s */
  readonly wait?: Duration | undefined;
  /** Ends the resuming; nothing is lost. */
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((report: ResumeReport) => void) | undefined;
}

/** Names an operation by its intent. */
export interface IntentReference<Name extends string = string> {
  readonly name: Name;
  readonly intent: string;
  /** @defaultValue the present owner */
  readonly owner?: string | undefined;
}

/** Options of `prune`. */
export interface PruneOptions {
  /** Settled records are dropped that are older. @defaultValue as createSdk was told */
  readonly keepFor?: Duration | undefined;
  /** Their intents are forgotten after so long. @defaultValue as createSdk was told */
  readonly rememberIntents?: Duration | undefined;
  /** Ends the pruning after its present step. */
  readonly signal?: AbortSignal | undefined;
  /** Told after each step how many records were dropped or stripped so far. */
  readonly onProgress?: ((pruned: number) => void) | undefined;
}

/** Whose. */
export interface OwnerFilter {
  /** `"*"` for everyone's. @defaultValue the present owner */
  readonly owner?: string | undefined;
}

/** What {@link createSdk} answers with. */
export interface Sdk<Ops extends Operations = Operations> extends AsyncDisposable {
  /** As it was passed to `createSdk`. */
  readonly name: string;
  /** Describes one operation. Synchronous, never throws: faults reject `save` and `send`. */
  operation<Name extends keyof Ops & string>(
    name: Name,
    ...call: CallArguments<Ops[Name]>
  ): OperationHandle<TypesOf<Ops[Name]>["result"], TypesOf<Ops[Name]>["failure"]>;
  /** Gives a handle back after a reload, by id or by intent. */
  attach<Name extends keyof Ops & string>(
    reference: IntentReference<Name>,
  ): OperationHandle<TypesOf<Ops[Name]>["result"], TypesOf<Ops[Name]>["failure"]>;
  attach(reference: string, filter?: OwnerFilter): OperationHandle;
  /** A drop-in for `fetch` at `baseUrl`'s origin. */
  readonly fetch: SdkFetch;
  /** What is pending, blocked or unresolved of the present owner, live. */
  readonly pending: PendingList;
  /**
   * Finishes what an earlier run left, and keeps going in the background.
   *
   * @throws StoreError `unavailable` after {@link Sdk.close}
   */
  start(): void;
  /** Ends {@link Sdk.start}; attempts under way go on. */
  stop(): void;
  /** Drives everything due until it is settled, stopped or `wait` is over. Never throws for an operation. */
  resume(options?: ResumeOptions): Promise<ResumeReport>;
  /** The record of this id, if it is the present owner's (or the named one's). */
  get(id: string, filter?: OwnerFilter): Promise<OperationRecord | undefined>;
  /** The latest record of this intent. */
  find(reference: IntentReference): Promise<OperationRecord | undefined>;
  /** Records in the order in which they were recorded. */
  list(filter?: ListFilter): AsyncIterableIterator<OperationRecord>;
  /** How many records stand in each state. */
  counts(filter?: OwnerFilter): Promise<Counts>;
  /**
   * Withdraws an operation.
   *
   * @throws MisuseError `already_sent`, `unknown_operation`
   */
  cancel(id: string): Promise<OperationRecord>;
  /**
   * Makes a blocked or unresolved operation due again, under the same key.
   *
   * @throws UnknownOutcomeError `key_expired` once the server may have forgotten the key
   */
  retry(id: string): Promise<OperationRecord>;
  /**
   * Gives an operation up. Its intent and lane are free again.
   *
   * @throws MisuseError `in_flight` while an attempt may still arrive, `already_settled` when it has succeeded
   */
  discard(id: string, why: { readonly reason: string }): Promise<OperationRecord>;
  /**
   * Records what someone found out about an operation of unknown outcome. One that has the same outcome already stays as it
   * is.
   *
   * @throws MisuseError `already_settled` when its outcome is another, `in_flight` while an attempt may still arrive,
   * `unknown_operation`
   */
  reconcile(id: string, outcome: "applied" | "not-applied"): Promise<OperationRecord>;
  /**
   * Records a new operation in the place of one that was given up: the same request under a new key, linked to it by
   * `reissueOf`. To be used once it is known that the old one was not applied; said twice, it is recorded once.
   *
   * @param why - what was found out, and how; kept with the old record
   * @returns the new record, which is sent like any other
   * @throws MisuseError `in_flight` while the old one is alive, `already_settled` when it was applied, `body_not_replayable`
   * when its body is gone, `intent_mismatch` when another operation has its intent or key by now
   * @throws UnknownOutcomeError `attempts` while the server remembers the key: `retry` asks under the same one
   */
  reissue(id: string, why: { readonly afterReconciling: string }): Promise<OperationRecord>;
  /** Hands an operation to another owner. */
  adopt(id: string, owner: string): Promise<OperationRecord>;
  /**
   * Stops the present owner's attempts, rejects who waits for them, and tells the other tabs. Call it before the session
   * is cleared.
   *
   * @throws MisuseError `bad_option` when it is to purge and nobody is signed in
   */
  signOut(options?: { readonly purge?: boolean | undefined }): Promise<void>;
  /** Removes everything of one owner, whatever its state. Answers how many records. */
  purge(owner: string): Promise<number>;
  /**
   * Seals everyone's records under the first key of {@link SdkOptions.seal}: those that are sealed under an older one, and
   * those that were recorded before there was a seal. Once nothing is left, the older keys can go.
   *
   * @throws MisuseError `bad_option` when there is no seal
   */
  reseal(): Promise<ResealReport>;
  /** How much room there is, and whether the browser has promised to keep what is stored. */
  storage(): Promise<StorageStatus>;
  /**
   * Drops what is past its keep time, whoever's it is, in small steps; {@link Sdk.start} does so by itself. What is pending,
   * blocked, unresolved or not yet delivered stays.
   *
   * @returns how many records were dropped, or stripped to the memory of their intent
   */
  prune(options?: PruneOptions): Promise<number>;
  /** Listens. Answers with the way to stop. */
  on<E extends keyof SdkEvents>(event: E, listener: (detail: SdkEvents[E]) => void): () => void;
  /** No new attempts; those under way get `timeout`, waiters a `PendingError("closed")`. @defaultValue 5 s */
  close(options?: { readonly timeout?: Duration | undefined }): Promise<void>;
}
