import type { OperationRecord } from "../../../src/core/record.js";
import type { Kind, Order, Told } from "./errand.js";
import type { Server } from "./server.js";

/** How often an order of a kind may have been decided by the server when it ends in a state. */
type Endings = Readonly<Record<string, readonly number[]>>;

const done: Endings = { succeeded: [1] };
/** Looked up at the server by whoever decides. */
const looked: Endings = { succeeded: [1], rejected: [0], expired: [0] };

const ENDINGS: Readonly<Record<Kind, Endings>> = {
  plain: done,
  large: done,
  flaky: done,
  slow: done,
  refused: { rejected: [1] },
  canceled: { canceled: [0], succeeded: [1] },
  reconciled: looked,
  discarded: { unresolved: [0, 1], expired: [0] },
  asked: looked,
};

type News = Extract<Told, { readonly order: string }>;
type Counts = Readonly<Partial<Record<string, number>>>;

/** Of what was told of an order only a success may be lost, unless it was someone's decision. */
function isUnsaid(told: string, kind: Kind, { state, resolution }: OperationRecord): boolean {
  if (told === state) return false;
  if (told === "unresolved") return resolution === undefined;
  return told !== "succeeded" || ENDINGS[kind] === looked;
}

/** What all lives together were told to do and have told, against what the server saw. */
export class Books {
  readonly #orders: Order[] = [];
  readonly #told = new Map<string, News[]>();
  /** What each file holds. */
  readonly #counts = new Map<string, Counts>();
  readonly #server: Server;
  readonly #prunes: boolean;

  constructor(server: Server, prunes: boolean) {
    this.#server = server;
    this.#prunes = prunes;
  }

  add(orders: readonly Order[]): void {
    this.#orders.push(...orders);
  }

  hear(told: readonly Told[], path: string): void {
    for (const one of told) {
      if (one.what === "done") this.#counts.set(path, one.counts);
      else if ("order" in one) this.#told.set(one.order, [...(this.#told.get(one.order) ?? []), one]);
    }
  }

  wasRefused({ order }: Order): boolean {
    return (this.#told.get(order) ?? []).some((one) => "state" in one && one.state === "rejected");
  }

  /** What is wrong, once a life has come to its end with nothing left to finish. */
  faults(): string[] {
    const faults = this.#orders.flatMap((order) => this.#faultsOf(order).map((fault) => `${order.order}: ${fault}`));
    if (this.#server.overlaps > 0) faults.push(`${this.#server.overlaps} requests met another with the same key`);
    return [...faults, ...this.#faultsOfLanes(), ...this.#faultsOfCounts()];
  }

  /** What must stand in the store at any time, and does not: all that was told or sent, but for successes. */
  missing(records: ReadonlyMap<string, OperationRecord>): string[] {
    const missing: string[] = [];
    for (const { order, kind } of this.#orders) {
      for (const key of this.#server.seen(order).keys) {
        if (records.get(key)?.sentAt === undefined) missing.push(`${order} was sent, and is not recorded as that`);
      }
      for (const one of this.#told.get(order) ?? []) {
        const record = records.get(one.key);
        if (!record) missing.push(`${order} was told ${one.what}, and is not recorded`);
        else if ("state" in one && isUnsaid(one.state, kind, record)) {
          missing.push(`${order} was told ${one.state}, and is ${record.state}`);
        }
      }
    }
    return missing;
  }

  /** Where an order ended, as it was told last. */
  #endOf({ order }: Order): string | undefined {
    const told = this.#told.get(order) ?? [];
    // What the hook has had may be dropped before it is looked up again.
    const last = told.findLast(({ what }) => what === "outcome") ?? told.findLast(({ what }) => what === "hook");
    return last && "state" in last ? last.state : undefined;
  }

  #faultsOf(order: Order): string[] {
    const { keys, bodies, decisions } = this.#server.seen(order.order);
    const told = this.#told.get(order.order) ?? [];
    const end = this.#endOf(order);
    const faults: string[] = [];
    if (end === undefined) return ["no outcome was told"];
    if (!ENDINGS[order.kind][end]?.includes(decisions)) faults.push(`it is ${end}, and was decided ${decisions} times`);
    if (keys.size > 1) faults.push(`it came under ${keys.size} keys`);
    if (bodies.size > 1) faults.push(`it came with ${bodies.size} bodies`);
    if (!told.some((one) => one.what === "hook" && one.state === end)) faults.push(`its hook was not told ${end}`);
    const key = told[0]?.key ?? "";
    if (keys.size > 0 && !keys.has(key)) faults.push("it came under another key than was told");
    for (const one of told) {
      if (one.key !== key) faults.push(`${one.what} was told with another key`);
      // What was told for certain is not unsaid.
      if ("state" in one && one.state !== end && one.state !== "unresolved") {
        faults.push(`${one.what} said ${one.state}, and it is ${end}`);
      }
    }
    return faults;
  }

  /** In each of them one after the other, in the order in which they were placed. */
  #faultsOfLanes(): string[] {
    const last = new Map<string, { readonly order: string; readonly place: number }>();
    return this.#orders.flatMap(({ order, lane }) => {
      const { place, decisions } = this.#server.seen(order);
      if (lane === undefined || decisions === 0) return [];
      const before = last.get(lane);
      last.set(lane, { order, place });
      return before && place < before.place ? [`${order}: it was served before ${before.order}, of the same lane`] : [];
    });
  }

  #faultsOfCounts(): string[] {
    const wanted = new Map<string, number>();
    for (const order of this.#orders) {
      const end = this.#endOf(order) ?? "nowhere";
      wanted.set(end, (wanted.get(end) ?? 0) + 1);
    }
    const held = new Map<string, number>();
    for (const counts of this.#counts.values()) {
      for (const [state, count = 0] of Object.entries(counts)) held.set(state, (held.get(state) ?? 0) + count);
    }
    // A refusal frees its intent, so nothing of it need be remembered.
    if (this.#prunes) for (const counts of [wanted, held]) counts.delete("rejected");
    return [...new Set([...wanted.keys(), ...held.keys()])]
      .filter((state) => wanted.get(state) !== held.get(state))
      .map((state) => `the store holds ${held.get(state) ?? 0} that are ${state}, not ${wanted.get(state) ?? 0}`);
  }
}
