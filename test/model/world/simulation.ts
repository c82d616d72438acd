import type { Action } from "../program.js";
import { owners } from "../program.js";
import { Client, type Seat, type Surroundings } from "./client.js";
import { Device } from "./device.js";
import { Disk, recordsOf } from "./disk.js";
import { Network } from "./network.js";
import { Server } from "./server.js";
import { User } from "./user.js";
import type { World } from "./world.js";

const MINUTE = 60_000;
/** For how long things may take to settle when the faults are over: longer than any wait that was asked for. */
const PATIENCE = 60 * MINUTE;

/** By how much clocks may differ without being apart: less than leases and waits allow for. */
const APART = 5_000;

/** Thrown at every step once a run has gone on for long enough: its faults are to end. */
export class Enough extends Error {}

/** One run: carries a program out, then ends the faults and waits until all is settled. */
export class Simulation {
  readonly #world: World;
  readonly #around: Surroundings;
  readonly #user: User;
  readonly #seats: Seat[];
  readonly #clients: (Client | undefined)[] = [];
  #lives = 0;
  #isApart = false;

  constructor(world: World) {
    this.#world = world;
    const server = new Server(world);
    const disk = new Disk();
    const onTime = (): void => this.#compareClocks();
    this.#around = { world, disk, network: new Network(world, server), server, device: new Device(world), onTime };
    this.#user = new User(disk, server);
    const { clocks, jump } = world.weather;
    const dice = world.dice.fork("clocks");
    const off = (): number => (clocks === "told" && dice.chance(0.5) ? dice.between(-jump, jump) : 0);
    this.#seats = ["a", "b", "c", "y", "z"].map((name) => ({ name, offset: off(), owner: owners[0], offline: false }));
    for (let seat = 0; seat < world.weather.clients; seat += 1) this.#bear(seat);
  }

  async run(program: readonly Action[]): Promise<void> {
    try {
      await this.#carryOut(program);
    } catch (error) {
      if (!(error instanceof Enough)) throw error;
    }
    await this.#settle();
  }

  async #carryOut(program: readonly Action[]): Promise<void> {
    for (const [n, action] of program.entries()) {
      const { now } = this.#world;
      if (action.at > now) await this.#world.clock.advance(action.at - now);
      this.#perform(n + 1, action);
    }
    await this.#world.clock.advance(0);
  }

  /** Nothing that is left over runs any further. */
  end(): void {
    for (const client of this.#clients) client?.kill();
  }

  #bear(seat: number): Client {
    this.#lives += 1;
    const client = new Client(this.#seats[seat] as Seat, this.#lives, this.#around);
    this.#clients[seat] = client;
    return client;
  }

  #perform(n: number, action: Action): void {
    const client = this.#clients[action.client];
    if (action.do === "power") this.#fail(action.for);
    else client?.process.enter(() => this.#act(n, action, client));
  }

  #act(n: number, action: Action, client: Client): void {
    // Held back by a client that was frozen.
    if (this.#world.calm) return;
    const { seat, process } = client;
    switch (action.do) {
      case "signIn":
        client.signIn(action.owner);
        break;
      case "crash":
        this.#crash(client);
        this.#restart(action.client, action.for);
        break;
      case "reload":
        void this.#reload(action.client, client);
        break;
      case "freeze":
        client.tell({ what: "freeze" });
        process.freeze();
        this.#later(action.for, () => this.#thaw(client));
        break;
      case "jump":
        this.#jump(seat, action.by, client);
        break;
      case "offline":
        seat.offline = true;
        client.tell({ what: "offline" });
        this.#later(action.for, () => this.#online(action.client));
        break;
      default:
        this.#user.perform(n, action, client);
    }
  }

  #jump(seat: Seat, by: number, client: Client | undefined): void {
    const isShared = this.#world.weather.clocks === "shared";
    for (const moved of isShared ? this.#seats : [seat]) moved.offset += by;
    if (client) client.tell({ what: "jump", by });
    else this.#world.tell(seat.name, { what: "jump", by });
    this.#compareClocks();
  }

  #compareClocks(): void {
    const offsets = this.#clients.flatMap((client) => (client?.alive ? (client.offset ?? []) : []));
    const isApart = Math.max(...offsets) - Math.min(...offsets) > APART;
    if (isApart === this.#isApart) return;
    this.#isApart = isApart;
    this.#world.tell("world", { what: isApart ? "apart" : "together" });
  }

  #crash(client: Client): void {
    client.tell({ what: "crash" });
    client.kill();
  }

  #restart(seat: number, after: number): void {
    this.#clients[seat] = undefined;
    this.#later(after, () => {
      if (!this.#clients[seat]) this.#bear(seat).sdk.start();
    });
  }

  async #reload(seat: number, client: Client): Promise<void> {
    client.tell({ what: "closing" });
    await client.sdk.close();
    if (!client.alive) return;
    client.tell({ what: "closed" });
    client.kill();
    if (this.#clients[seat] !== client) return;
    this.#bear(seat).sdk.start();
  }

  #fail(outage: number): void {
    const { disk } = this.#around;
    for (const client of this.#clients) client?.kill();
    disk.fail(this.#world.dice.fork(`power/${disk.failures}`).fraction());
    this.#world.tell("world", { what: "power", records: recordsOf(disk.committed) });
    for (let seat = 0; seat < this.#world.weather.clients; seat += 1) this.#restart(seat, outage);
  }

  #thaw(client: Client): void {
    if (!client.process.frozen || !client.alive) return;
    client.tell({ what: "thaw" });
    client.process.thaw();
  }

  #online(seat: number): void {
    const client = this.#clients[seat];
    (this.#seats[seat] as Seat).offline = false;
    client?.tell({ what: "online" });
    client?.wake();
  }

  #later(ms: number, task: () => void): void {
    void this.#world.pause(ms).then(task);
  }

  /** The faults are over, clocks that nobody corrects are set right, and every owner is signed in somewhere. */
  async #settle(): Promise<void> {
    const { world, disk } = this.#around;
    world.calm = true;
    world.tell("world", { what: "calm" });
    if (world.weather.clocks === "own") {
      for (const [index, seat] of this.#seats.entries())
        if (seat.offset !== 0) this.#jump(seat, -seat.offset, this.#clients[index]);
    }
    for (const [seat, client] of this.#clients.entries()) {
      if (client) this.#thaw(client);
      if (client && this.#seats[seat]?.offline) this.#online(seat);
    }
    for (const [index, owner] of owners.entries()) {
      const seat = 3 + index;
      (this.#seats[seat] as Seat).owner = owner;
      this.#bear(seat).sdk.start();
    }
    for (let waited = 0; waited < PATIENCE && !this.#isQuiet(); waited += MINUTE) {
      await world.clock.advance(MINUTE);
      // What was blocked for want of credentials meanwhile.
      for (const client of this.#clients.slice(3)) void client?.sdk.resume({ wait: 1_000 });
    }
    const open = this.#user.open.map(({ n, action }) => ({ n, action }));
    world.tell("world", { what: "over", records: recordsOf(disk.committed), open });
  }

  #isQuiet(): boolean {
    const done = recordsOf(this.#around.disk.committed).every(
      ({ state, delivered, blockedBy }) =>
        (state !== "pending" && state !== "blocked" && delivered) ||
        (state === "blocked" && blockedBy !== "credentials"),
    );
    return done && this.#user.open.length === 0;
  }
}
