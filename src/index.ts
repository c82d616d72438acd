/** One operation, one idempotency key, every retry. */

export { type Define, del, patch, post, put } from "./client/define.js";
export type { ResumeReport } from "./client/drain.js";
export type { SdkFetch, SdkFetchInit } from "./client/fetch.js";
export type { WriteRequest } from "./client/fetch-look.js";
export type { IntentOf, Only } from "./client/fetch-scope.js";
export type { OperationHandle } from "./client/handle.js";
export type { Snapshot } from "./client/live.js";
export type { PendingList } from "./client/pending.js";
export type { Outcome } from "./client/result.js";
export type { StorageStatus } from "./client/room.js";
export type { SdkEvents } from "./client/sdk-events.js";
export type {
  CallArguments,
  IntentReference,
  ListFilter,
  OwnerFilter,
  PruneOptions,
  ResumeOptions,
  Sdk,
} from "./client/sdk-interface.js";
export type {
  AttemptEnd,
  AttemptObserver,
  CallObserver,
  ObservedAttempt,
  ObservedCall,
  ObservedSdk,
  Observer,
  Telemetry,
} from "./client/telemetry.js";
export type {
  AnyDefinition,
  AttemptContext,
  Awaitable,
  CallOptions,
  HeaderMap,
  HeadersProvider,
  LogEntry,
  OperationDefinition,
  OperationOptions,
  Operations,
  RetryOptions,
  SaveOptions,
  SdkOptions,
  SendOptions,
  SendResult,
  SharedOptions,
  TypesOf,
} from "./client/types.js";
export type { WrapFetchOptions, WrappedFetch } from "./client/wrap-fetch.js";
export type { Answer, Verdict } from "./core/classify.js";
export type { Duration } from "./core/durations.js";
export type { ApiReader, Finding, Profile, ProfileRequest, ProfileRoute, ProfileTerms } from "./core/profile.js";
export type { Random } from "./core/random.js";
export type {
  AttemptEntry,
  BlockedBy,
  Lease,
  Mark,
  NewRecord,
  OperationRecord,
  Resolution,
  Sealed,
  State,
  StoredRequest,
  StoredResponse,
  Wire,
} from "./core/record.js";
export type { HeaderReader } from "./core/retry-after.js";
export {
  type CanceledCode,
  CanceledError,
  type ErrorCode,
  type ErrorDetails,
  type ErrorRecord,
  type MisuseCode,
  MisuseError,
  type PendingCode,
  PendingError,
  type RejectedCode,
  RejectedError,
  type ResultCode,
  ResultError,
  SamekeyError,
  type StoreCode,
  StoreError,
  type UnknownOutcomeCode,
  UnknownOutcomeError,
} from "./errors.js";
export type {
  AttemptEndMessage,
  BlockedMessage,
  ChannelMessages,
  OperationMessage,
  RetryMessage,
  SettledMessage,
} from "./platform/channel-messages.js";
export { createSdk, wrapFetch } from "./platform/none.js";
export type {
  CallerTransaction,
  Channel,
  Claimed,
  ClaimQuery,
  Clock,
  Counts,
  Inserted,
  InsertLimits,
  Message,
  PageFilter,
  PruneQuery,
  ResealReport,
  Seal,
  Sealing,
  StorageFigures,
  Store,
  StoreContext,
} from "./store.js";
