import type { Kind, Order, Told } from "./errand.js";
import type { Server } from "./server.js";

const STATE: Readonly<Record<Kind, string>> = {
  plain: "succeeded",
  large: "succeeded",
  flaky: "succeeded",
  refused: "rejected",
};

/** What all lives together were told to do and have told, against what the server saw. */
export class Books {
  readonly #orders: Order[] = [];
  readonly #told = new Map<string, Told[]>();
  readonly #server: Server;
  #counts: Readonly<Partial<Record<string, number>>> = {};

  constructor(server: Server) {
    this.#server = server;
  }

  add(orders: readonly Order[]): void {
    this.#orders.push(...orders);
  }

  hear(told: readonly Told[]): void {
    for (const one of told) {
      if (one.what === "done") this.#counts = one.counts;
      else if (one.what !== "recovered") this.#told.set(one.order, [...(this.#told.get(one.order) ?? []), one]);
    }
  }

  /** What is wrong, once a life has come to its end with nothing left to finish. */
  faults(): string[] {
    const faults = this.#orders.flatMap((order) => this.#faultsOf(order).map((fault) => `${order.order}: ${fault}`));
    if (this.#server.overlaps > 0) faults.push(`${this.#server.overlaps} requests met another with the same key`);
    const wanted: Record<string, number> = {};
    for (const { kind } of this.#orders) wanted[STATE[kind]] = (wanted[STATE[kind]] ?? 0) + 1;
    for (const state of new Set([...Object.keys(wanted), ...Object.keys(this.#counts)])) {
      const [is, should] = [this.#counts[state] ?? 0, wanted[state] ?? 0];
      if (is !== should) faults.push(`the store holds ${is} that are ${state}, and should hold ${should}`);
    }
    return faults;
  }

  #faultsOf({ order, kind }: Order): string[] {
    const seen = this.#server.seen.get(order);
    const told = this.#told.get(order) ?? [];
    if (!seen) return ["it never reached the server"];
    const faults: string[] = [];
    if (seen.keys.size !== 1) faults.push(`it came under ${seen.keys.size} keys`);
    if (seen.bodies.size !== 1) faults.push(`it came with ${seen.bodies.size} bodies`);
    if (seen.decisions !== 1) faults.push(`it was decided ${seen.decisions} times`);
    for (const what of ["outcome", "hook"] as const) {
      if (!told.some((one) => one.what === what)) faults.push(`no ${what} was told`);
    }
    for (const one of told) {
      if (!("key" in one)) continue;
      if (!seen.keys.has(one.key ?? "")) faults.push(`${one.what} was told with another key`);
      if ("state" in one && one.state !== STATE[kind]) faults.push(`${one.what} said ${one.state}, not ${STATE[kind]}`);
    }
    return faults;
  }
}
