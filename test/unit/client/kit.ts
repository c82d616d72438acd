/** What the client's tests share: tabs of one browser in virtual time, and stores that can be watched or broken. */

import { createSdkWith } from "../../../src/client/sdk.js";
import type { Sdk } from "../../../src/client/sdk-interface.js";
import type { Operations, SdkOptions } from "../../../src/client/types.js";
import { StoreError } from "../../../src/errors.js";
import type { Store } from "../../../src/store.js";
import { memoryStore } from "../../../src/stores/memory.js";
import { createMockServer } from "../../../src/testing/mock-server.js";
import { seededRandom } from "../../../src/testing/random.js";
import { TestDevice } from "../../../src/testing/test-platform.js";
import { createVirtualClock } from "../../../src/testing/virtual-clock.js";

export interface Transfer {
  readonly amount: number;
  readonly at?: number;
}

export interface Receipt {
  readonly id: string;
}

/** One browser with several tabs: one store, one network, one clock. */
export function createBrowser(server: Parameters<typeof createMockServer>[0] = {}) {
  const clock = createVirtualClock();
  const random = seededRandom(7);
  const device = new TestDevice();
  const store = memoryStore();
  // One connection for all: closing a tab does not close it.
  const shared: Store = new Proxy(store, {
    get: (target, name) => {
      if (name === "close") return async () => {};
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const mock = createMockServer({ ...server, clock: clock.steady });
  return {
    clock,
    device,
    store,
    server: mock,
    open<const Ops extends Operations>(options: Partial<SdkOptions<Ops>> = {}): Sdk<Ops> {
      return createSdkWith(
        {
          name: "test",
          owner: "single",
          retention: "24h",
          baseUrl: mock.baseUrl,
          store: shared,
          fetch: mock.fetch,
          ...options,
        },
        device.platform(clock, random),
      );
    },
  };
}

type Verb = Exclude<keyof Store, "durable">;

/** A store whose verbs can be watched and made to fail. */
export function createWatchedStore(inner: Store = memoryStore()) {
  const log: string[] = [];
  const faults = new Map<Verb, (run: () => Promise<unknown>) => Promise<unknown>>();
  const store = new Proxy(inner, {
    get(target, name: string) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return async (...args: unknown[]) => {
        const run = async (): Promise<unknown> => value.apply(target, args);
        log.push(`${name} begins`);
        const result = await (faults.get(name as Verb)?.(run) ?? run());
        log.push(`${name} done`);
        return result;
      };
    },
  }) as Store;
  return {
    store,
    log,
    /** Stands in for a verb until it is mended. */
    break(verb: Verb, fault: (run: () => Promise<unknown>) => Promise<unknown>): void {
      faults.set(verb, fault);
    },
    mend(verb: Verb): void {
      faults.delete(verb);
    },
  };
}

/** Rejects with this code, before or after the verb has done its work. */
export function failing(code: StoreError["code"], when: "before" | "after" = "before") {
  return async (run: () => Promise<unknown>): Promise<unknown> => {
    if (when === "after") await run();
    throw new StoreError(code);
  };
}

/** What a promise has come to: its value, or the error it was rejected with. */
export async function fate<T>(promise: Promise<T>): Promise<T | unknown> {
  return promise.then(
    (value) => value,
    (error: unknown) => error,
  );
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
