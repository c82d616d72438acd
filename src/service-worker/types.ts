import type { Awaitable, Duration, Sdk } from "../index.js";

/** Options of {@link backgroundSync}; only the service worker looks at them. */
export interface BackgroundSyncOptions {
  /**
   * How long the worker stays awake for what is left, each time that it is woken. Browsers end an event after some
   * minutes.
   *
   * @defaultValue 2 min
   */
  readonly wait?: Duration | undefined;
  /**
   * Awaited before anything is sent: the place to look up who is signed in, since `owner()` has to answer at once and a
   * worker has no `localStorage`. Awaited anew when someone signs out meanwhile. What it throws ends this wake-up; the
   * browser tries again later.
   */
  readonly prepare?: (() => Awaitable<unknown>) | undefined;
}

/** As much of an {@link Sdk} as `backgroundSync` needs. */
export type BackgroundSyncSdk = Pick<Sdk, "name" | "on" | "counts" | "resume">;

/** As much of a registration as is used: TypeScript's DOM has no Background Sync. */
export interface SyncRegistration {
  readonly sync?: SyncManager | undefined;
  readonly active: { postMessage(message: unknown): void } | null;
}

interface SyncManager {
  register(tag: string): Promise<void>;
  getTags(): Promise<readonly string[]>;
}

/** `sync`, `periodicsync`, `message` and `activate` events, with what each of them has. */
export interface WakeEvent extends Event {
  readonly tag?: string;
  readonly lastChance?: boolean;
  readonly data?: unknown;
  waitUntil(work: Promise<unknown>): void;
}

/** As much of a service worker's globals as is used. */
export interface WorkerScope {
  readonly registration: SyncRegistration;
  readonly serviceWorker?: { readonly state: string };
  addEventListener(type: string, listener: (event: WakeEvent) => void): void;
  removeEventListener(type: string, listener: (event: WakeEvent) => void): void;
}
