import { post } from "../../../src/client/define.js";
import type { Platform } from "../../../src/client/platform-port.js";
import { createSdkWith } from "../../../src/client/sdk.js";
import type { Sdk } from "../../../src/client/sdk-interface.js";
import type { HeadersProvider, Operations } from "../../../src/client/types.js";
import type { Finding } from "../../../src/core/profile.js";
import type { OperationRecord } from "../../../src/core/record.js";
import { provesUnsent } from "../../../src/platform/unsent.js";
import type { Clock } from "../../../src/store.js";
import type { Ending, Happening } from "../trace.js";
import { Connection, type Fate } from "./connection.js";
import type { Device } from "./device.js";
import type { Dice } from "./dice.js";
import type { Disk } from "./disk.js";
import type { Network } from "./network.js";
import { Process } from "./process.js";
import type { Server } from "./server.js";
import type { World } from "./world.js";

/** How long settled records are kept, in milliseconds. */
export const KEEP_FOR = 20 * 60_000;

/** What every client stands in. */
export interface Surroundings {
  readonly world: World;
  readonly disk: Disk;
  readonly network: Network;
  readonly server: Server;
  readonly device: Device;
  /** Some client's clock may show another time now. */
  onTime(): void;
}

/** What a client keeps when it dies and is born again: its clock, who is signed in, whether there is a network. */
export interface Seat {
  readonly name: string;
  /** By how much its clock is off, in milliseconds. */
  offset: number;
  owner: string | undefined;
  offline: boolean;
}

/** One life of a client: the real Sdk, from its creation to its end. */
export class Client {
  readonly name: string;
  readonly process: Process;
  readonly sdk: Sdk<Operations>;
  readonly seat: Seat;
  readonly #connection: Connection;
  readonly #around: Surroundings;
  readonly #dice: Dice;
  readonly #wakes = new Set<() => void>();
  /** Whom somebody named himself, so that the client may act for him. */
  readonly #granted = new Set<string>();
  #signedOut: string | undefined;
  #asked = 0;
  #looks = 0;
  /** For which operation credentials were asked. */
  readonly #tokens = new Map<string, string>();

  constructor(seat: Seat, life: number, around: Surroundings) {
    this.name = `${seat.name}.${life}`;
    this.seat = seat;
    this.#around = around;
    this.#dice = around.world.dice.fork(`client/${this.name}`);
    this.process = new Process(this.name);
    this.#connection = this.#connect(around.disk);
    this.tell({ what: "born" });
    this.sdk = this.#create();
  }

  get alive(): boolean {
    return this.process.alive;
  }

  /** By how much the clock that it goes by is off, in milliseconds; nothing while it has not opened the store. */
  get offset(): number | undefined {
    return this.#connection.isOpen ? this.#offset() : undefined;
  }

  tell(happening: Happening): void {
    this.#around.world.tell(this.name, happening, this.#offset());
  }

  /** Whom it may act for now. */
  get mayActFor(): readonly string[] | "*" {
    if (this.#granted.has("*")) return "*";
    const { owner } = this.seat;
    const present = owner === undefined || owner === this.#signedOut ? [] : [owner];
    return [...present, ...this.#granted];
  }

  grant(owner: string): void {
    this.#granted.add(owner);
  }

  /** Whoever acts is signed in. */
  acts(): void {
    this.#signedOut = undefined;
  }

  signIn(owner: string | undefined): void {
    if (owner !== this.seat.owner) this.#signedOut = undefined;
    this.seat.owner = owner;
    this.tell({ what: "session", owner });
  }

  signsOut(): void {
    this.#signedOut = this.seat.owner;
    if (this.seat.owner !== undefined) this.#granted.delete(this.seat.owner);
  }

  async after(ms: number, task: () => void): Promise<void> {
    await this.process.receive(this.#around.world.pause(ms));
    task();
  }

  wake(): void {
    for (const wake of [...this.#wakes]) this.process.enter(wake);
  }

  kill(): void {
    this.process.kill();
    this.#around.device.bury(this.process);
  }

  #offset(): number {
    const now = this.#connection.now;
    return now === undefined ? this.seat.offset : now - this.#around.world.clock.now();
  }

  #create(): Sdk<Operations> {
    const { weather } = this.#around.world;
    const settled = (record: OperationRecord): Promise<void> => this.#settled(record);
    const reconcile = weather.lookUp > 0 ? (record: OperationRecord) => this.#look(record) : undefined;
    const profile = { name: "signals", dedupes: false };
    return createSdkWith(
      {
        name: "model",
        baseUrl: "https://api.example.com",
        owner: () => this.seat.owner,
        retention: weather.retention,
        keepFor: KEEP_FOR,
        rememberIntents: KEEP_FOR,
        store: this.#connection,
        fetch: (input, init) => this.fetch(input, init),
        headers: this.#headers,
        operations: {
          transfer: post("/transfers", { settled, reconcile }),
          note: post("/notes"),
          order: post("/orders", { key: "from-intent", settled }),
          signal: post("/signals", { profile, settled, reconcile }),
        },
      },
      this.#platform(),
    );
  }

  #platform(): Platform {
    const { device, world } = this.#around;
    const { platform } = world.weather;
    const clock = this.#clock();
    return {
      clock,
      random: this.#dice.fork("random").bytes,
      telemetry: [],
      concurrency: 4,
      pollEvery: platform.pollEvery,
      seesRedirects: platform.seesRedirects,
      provesUnsent: (error) => platform.provesUnsent && provesUnsent(error, false),
      defaultStore: () => this.#connection,
      defaultBaseUrl: () => undefined,
      isOffline: () => this.seat.offline,
      onWake: (wake) => {
        this.#wakes.add(wake);
        return () => this.#wakes.delete(wake);
      },
      openChannel: (_, receive) => device.openChannel(this.process, receive),
      createHolder: () => device.createHolder(this.process, clock.now()),
      digest: async (bytes) => `hex:${Buffer.from(bytes).toString("hex")}`,
    };
  }

  #clock(): Clock {
    const { clock } = this.#around.world;
    return {
      now: () => clock.now() + this.seat.offset,
      sleep: (ms, signal) => this.process.receive(clock.sleep(ms, signal)),
    };
  }

  #connect(disk: Disk): Connection {
    const { world } = this.#around;
    const { weather } = world;
    const dice = this.#dice.fork("store");
    return new Connection({
      disk,
      pause: (ms) => world.pause(ms),
      latency: () => (world.calm ? 2 : dice.between(1, weather.storeLatency)),
      fate: () =>
        !world.calm && dice.chance(weather.store) ? dice.weighted<Fate>({ ok: 0, ...weather.storeFates }) : "ok",
      stall: () => ({ before: 5_000, after: dice.pick([1, 2_000, 20_000]), commits: dice.chance(0.5) }),
      alive: () => this.alive,
      awake: () => this.process.receive(Promise.resolve()),
      onCommit: (changes) => {
        for (const change of changes) this.tell({ what: "write", ...change });
      },
      onFault: (fate) => this.tell({ what: "fault", of: "store", fate }),
      ...(weather.clocks === "told" && { time: () => world.clock.now() }),
      onTime: () => this.#around.onTime(),
    });
  }

  readonly #headers: HeadersProvider = async ({ owner, id, attempt }) => {
    const { world } = this.#around;
    const { slow, missing, failing } = world.weather.credentials;
    const n = ++this.#asked;
    const dice = this.#dice.fork(`headers/${n}`);
    if (!world.calm && slow > 0) await this.process.receive(world.pause(dice.between(1, slow)));
    if (!world.calm && dice.chance(failing)) throw new Error("no token now");
    const token = !world.calm && dice.chance(missing) ? null : `secret-${owner}-${this.name}-${n}`;
    if (token !== null) this.#tokens.set(token, id);
    this.tell({ what: "credentials", id, attempt, token });
    return token === null ? null : { authorization: token };
  };

  async #settled(record: OperationRecord): Promise<void> {
    const { world } = this.#around;
    await this.process.receive(world.pause(1));
    const ok = world.calm || !this.#dice.chance(world.weather.hookFails);
    this.tell({ what: "hook", record, ok, durable: this.#around.disk.synced.get(record.id) });
    if (!ok) throw new Error("the hook fails");
  }

  /** Looks at the server for what became of an operation, and takes its time to say so. */
  async #look(record: OperationRecord): Promise<Finding> {
    const { world, server } = this.#around;
    const look = ++this.#looks;
    const dice = this.#dice.fork(`look/${look}`);
    const isCertain = world.calm || dice.chance(0.8);
    const finds = isCertain ? (server.effectsOf(record.key) > 0 ? "applied" : "not-applied") : "unknown";
    this.tell({ what: "looks", look, record, finds });
    await this.process.receive(world.pause(world.calm ? 1 : dice.between(1, world.weather.lookUp)));
    this.tell({ what: "found", look, record, finds });
    return finds;
  }

  readonly fetch: typeof globalThis.fetch = (input, init) => {
    const { network, disk } = this.#around;
    const request = network.nextRequest();
    const headers = new Headers(init?.headers);
    const key = headers.get("idempotency-key") ?? "";
    const body = new Uint8Array((init?.body as ArrayBuffer | null) ?? new ArrayBuffer(0));
    const wire = { method: init?.method ?? "GET", url: String(input), headers, body, key };
    const token = headers.get("authorization") ?? "none";
    this.tell({
      what: "fetch",
      request,
      method: wire.method,
      url: wire.url,
      key,
      contentType: headers.get("content-type") ?? undefined,
      body: new TextDecoder().decode(body),
      token,
      durable: disk.synced.get(this.#tokens.get(token) ?? ""),
      mayActFor: this.mayActFor,
    });
    let open = true;
    const end = (ending: Ending): void => {
      if (open) this.tell({ what: "end", request, ...ending });
      open = false;
    };
    const signal = init?.signal ?? new AbortController().signal;
    return new Promise((resolve, reject) => {
      signal.addEventListener("abort", () => {
        end({ how: "aborted", reason: String(signal.reason?.message ?? signal.reason) });
        reject(signal.reason);
      });
      this.process.receive(network.carry(request, wire, signal, end)).then(resolve, reject);
    });
  };
}
