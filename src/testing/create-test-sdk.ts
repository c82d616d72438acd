import { createSdkWith } from "../client/sdk.js";
import type { Sdk } from "../client/sdk-interface.js";
import type { Operations, SdkOptions } from "../client/types.js";
import type { Duration } from "../core/durations.js";
import type { Store } from "../store.js";
import { memoryStore } from "../stores/memory.js";
import { Life } from "./life.js";
import { createMockServer, type MockServer, type MockServerOptions } from "./mock-server.js";
import { seededRandom } from "./random.js";
import { TestDevice } from "./test-platform.js";
import { createVirtualClock, type VirtualClock } from "./virtual-clock.js";

/** Options of {@link createTestSdk}: those of `createSdk`, none of them required, and a few of the world around it. */
export interface TestSdkOptions<Ops extends Operations> extends Omit<Partial<SdkOptions<Ops>>, "clock" | "fetch"> {
  /** The time at the beginning, in milliseconds since the Unix epoch. @defaultValue 2026-01-01T00:00:00Z */
  readonly start?: number | undefined;
  /** Decides keys and jitter: a test is the same in every run. @defaultValue 1 */
  readonly seed?: number | string | undefined;
  /** A server of your own making (give it the same `clock`), or how this one is made. */
  readonly server?: MockServer | Omit<MockServerOptions, "clock" | "baseUrl"> | undefined;
  /** @defaultValue a new one */
  readonly clock?: VirtualClock | undefined;
}

/** An app's Sdk with the world around it: a store in memory, a mock server, virtual time. */
export class TestSdk<Ops extends Operations> {
  readonly clock: VirtualClock;
  readonly server: MockServer;
  readonly store: Store;
  readonly #options: SdkOptions<Ops>;
  readonly #device = new TestDevice();
  #life = new Life();
  #sdk: Sdk<Ops>;

  /** Use {@link createTestSdk}. */
  constructor(options: TestSdkOptions<Ops>) {
    const { start, seed = 1, server, clock = createVirtualClock({ start }), store = memoryStore(), ...sdk } = options;
    this.clock = clock;
    this.server = isServer(server)
      ? server
      : createMockServer({
          ...server,
          baseUrl: sdk.baseUrl,
          clock: clock.steady,
          header: sdk.profile?.header ?? undefined,
        });
    this.store = store;
    const random = sdk.random ?? seededRandom(seed);
    this.#options = { name: "test", owner: "single", retention: "24h", ...sdk, baseUrl: this.server.baseUrl, random };
    this.#sdk = this.#born();
  }

  /** The present instance: another one after {@link reload} and {@link crash}. */
  get sdk(): Sdk<Ops> {
    return this.#sdk;
  }

  /** Lets time pass; see {@link VirtualClock.advance}. */
  advance(duration: Duration): Promise<void> {
    return this.clock.advance(duration);
  }

  /** Lets as much time pass as `promise` needs; see {@link VirtualClock.until}. */
  until<T>(promise: PromiseLike<T>, atMost?: Duration): Promise<T> {
    return this.clock.until(promise, atMost);
  }

  /** Tells the Sdk that the device is offline, or online again, as a browser does. */
  offline(offline: boolean): void {
    this.#device.setOffline(offline);
  }

  /**
   * Closes the instance in good order and answers with a fresh one over the same store, as after a page has been
   * reloaded or a service redeployed. Lets up to 5 s pass for attempts in flight.
   */
  async reload(): Promise<Sdk<Ops>> {
    await this.clock.until(this.#sdk.close());
    return this.crash();
  }

  /**
   * Kills the instance where it stands and answers with a fresh one over the same store. Nothing of the old one touches
   * the store or the network any more, and its promises stay open; what it had sent is on its way.
   */
  crash(): Sdk<Ops> {
    this.#life.end();
    this.#device.clear();
    this.#life = new Life();
    this.#sdk = this.#born();
    return this.#sdk;
  }

  #born(): Sdk<Ops> {
    const clock = this.#life.clock(this.clock);
    const parts = { clock, store: this.#life.store(this.store), fetch: this.#life.fetch(this.server.fetch) };
    return createSdkWith(
      { ...this.#options, ...parts },
      this.#device.platform(clock, this.#options.random as NonNullable<SdkOptions["random"]>),
    );
  }
}

/** A {@link TestSdk}: your operations in virtual time, over a store in memory and a {@link MockServer}. */
export function createTestSdk<const Ops extends Operations>(options: TestSdkOptions<Ops> = {}): TestSdk<Ops> {
  return new TestSdk(options);
}

function isServer(server: MockServer | MockServerOptions | undefined): server is MockServer {
  return server !== undefined && "fetch" in server;
}
