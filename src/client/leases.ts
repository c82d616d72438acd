import type { EventOf } from "../core/event.js";
import { faultPoint } from "../core/fault-point.js";
import { isHeld, type Lease, type OperationRecord } from "../core/record.js";
import type { Journal } from "./journal.js";
import type { ResolvedOptions } from "./options.js";
import type { Holder } from "./platform-port.js";

/** How long a claim lasts without renewal, in milliseconds. */
const LEASE = 30_000;

/** What is under way here under a lease. */
interface Held {
  readonly record: OperationRecord;
  readonly controller: AbortController;
  /** As far as is known here; none once it is known to be lost. */
  lease: Lease | undefined;
}

/** The leases that this process holds: renewed while their work runs, and those of the dead ended. */
export class Leases {
  readonly #held = new Map<string, Held>();
  readonly #options: ResolvedOptions;
  readonly #journal: Journal;
  readonly #holder: Holder;
  #renewing = false;
  /** Called when another holder is gone, and its leases with it. */
  onRelief: () => void = () => {};

  constructor(options: ResolvedOptions, journal: Journal, holder: Holder) {
    this.#options = options;
    this.#journal = journal;
    this.#holder = holder;
    journal.onHolder = (other) => this.#watch(other);
  }

  get size(): number {
    return this.#held.size;
  }

  /** Renews the record's lease until {@link release}; the answer aborts its work. */
  hold(record: OperationRecord): AbortController {
    const controller = new AbortController();
    this.#held.set(record.id, { record, controller, lease: record.lease });
    void this.#renew();
    return controller;
  }

  /** What a lease of this holder's is made of, by a claim or a renewal. */
  terms(): Pick<EventOf<"claim">, "holder" | "length" | "steady"> {
    const steady = this.#options.hasOwnClock ? undefined : this.#holder.steady?.();
    return { holder: this.#holder.id, length: LEASE, steady };
  }

  /** Whether someone holds the record. On one machine that is a matter of its steady clock: the other may have been put. */
  isHeld({ lease }: Pick<OperationRecord, "lease">): boolean {
    const { clock, hasOwnClock } = this.#options;
    const lasts = lease && !hasOwnClock ? this.#holder.lasts?.(lease) : undefined;
    return lasts ?? isHeld({ lease }, clock.now());
  }

  /** Nobody else may have begun an attempt: it has not run out, however long this process was frozen. */
  lasts({ id, fence }: OperationRecord): boolean {
    const held = this.#held.get(id);
    return held?.record.fence === fence && this.isHeld(held);
  }

  release({ id, fence }: OperationRecord): void {
    if (this.#held.get(id)?.record.fence === fence) this.#held.delete(id);
  }

  /** Ends what is under way, of one owner or of all; what it may have done counts as uncertain. */
  abort(reason: DOMException, owner?: string): void {
    for (const held of this.#held.values())
      if (owner === undefined || held.record.owner === owner) held.controller.abort(reason);
  }

  /** Ends the leases of holders that are certainly gone; answers how many. */
  async relieve(): Promise<number> {
    const store = await this.#journal.open();
    const seen = new Set<string>();
    await store.relieve((other) => {
      if (other !== this.#holder.id) seen.add(other);
      return false;
    });
    if (seen.size === 0) return 0;
    // Asked only now: one who came after the answer would be taken for dead.
    const isDead = await this.#holder.survey();
    for (const other of seen) if (!isDead(other)) this.#watch(other);
    FAULT: faultPoint("relieve:before");
    const relieved = await store.relieve((other) => seen.has(other) && isDead(other));
    FAULT: faultPoint("relieve:after");
    return relieved;
  }

  /** One who goes is relieved at once, where the platform tells. */
  #watch(holder: string): void {
    this.#holder.watch?.(holder, () => {
      // By whichever tab: all who wait look again.
      this.relieve().then(
        () => this.onRelief(),
        () => {},
      );
    });
  }

  async #renew(): Promise<void> {
    if (this.#renewing) return;
    this.#renewing = true;
    const { clock } = this.#options;
    while (this.#held.size > 0) {
      await clock.sleep(LEASE / 3, undefined, true);
      FAULT: faultPoint("renew:before");
      const at = clock.now();
      const { length, steady } = this.terms();
      const extensions = [...this.#held].map(async ([id, held]) => {
        const { fence, seq } = held.record;
        const after = await this.#journal.change(id, { type: "extend", at, fence, length, steady }, held.record);
        held.lease = after?.fence === fence && after.seq === seq ? after.lease : undefined;
      });
      // A lease that cannot be renewed runs out; the promise does not rest on it.
      await Promise.allSettled(extensions);
      FAULT: faultPoint("renew:after");
    }
    this.#renewing = false;
  }
}
