import type { Random } from "../core/random.js";
import type { Lease } from "../core/record.js";
import type { Channel, Clock, Message, Store } from "../store.js";
import type { Telemetry } from "./telemetry.js";

export type { Channel, Message } from "../store.js";

/** This process or tab as a holder of leases. */
export interface Holder {
  readonly id: string;
  /** Tells which other holders are certainly gone. */
  survey(): Promise<(holder: string) => boolean>;
  /** Calls back once another holder is gone, where that is told at once. */
  watch?(holder: string, gone: () => void): void;
  /** What a clock says that nobody puts, in milliseconds, where there is one. */
  steady?(): number | undefined;
  /** Whether a lease lasts by that clock; `undefined` where it is another's. */
  lasts?(lease: Lease): boolean | undefined;
  release(): void;
}

/** What differs between browsers, Node and elsewhere. */
export interface Platform {
  readonly clock: Clock;
  readonly random: Random;
  /** Who follows every Sdk of this platform. */
  readonly telemetry: readonly Telemetry[];
  /** The most attempts at once, unless told otherwise. */
  readonly concurrency: number;
  /** How often to look for other processes' work, in milliseconds. */
  readonly pollEvery: number;
  /** Whether a redirect's target can be seen, so that 307 and 308 to the same origin can be sent on. */
  readonly seesRedirects: boolean;
  /**
   * Whether an error of `fetch` proves that no byte of the request was sent; browsers tell nothing of the kind.
   *
   * @param isCustom - that `fetch` is not the platform's own
   */
  provesUnsent(error: unknown, isCustom: boolean): boolean;
  defaultStore(): Store;
  defaultBaseUrl(): string | undefined;
  isOffline(): boolean;
  /** Calls back when work may be possible again: online, page visible. Answers with the way to stop. */
  onWake(wake: () => void): () => void;
  /** Calls back once nothing more urgent is to be done, where the platform tells. Answers with the way to stop. */
  onIdle?(idle: () => void): (() => void) | undefined;
  /** Why an origin answers nothing although it can be reached, where there is a way to find out. */
  explainSilence?(origin: string, header: string, fetch: typeof globalThis.fetch): Promise<string | undefined>;
  /** Keeps the process alive until the answer is called, where one ends that waits for nothing else. */
  keepAlive?(): () => void;
  openChannel(name: string, receive: (message: Message) => void): Channel | undefined;
  createHolder(random: Random): Holder;
  /** `algorithm:hex`. */
  digest(bytes: Uint8Array<ArrayBuffer>): Promise<string>;
}
