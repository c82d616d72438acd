import type { OperationRecord } from "../../../src/core/record.js";
import type { Ending, ModelEvent, Sent } from "../trace.js";

/** One request, with what became of it for its client. */
export interface Request {
  readonly request: number;
  readonly who: string;
  readonly key: string;
  readonly url: string;
  readonly token: string;
  /** What was recorded of it when it was sent. */
  readonly record: OperationRecord | undefined;
  /** When, by the true clock and by its client's. */
  readonly at: number;
  readonly clock: number;
  ending: Ending | undefined;
}

/** What is known of a run so far: the truth, not what a client knows. Up to date with the event that is looked at. */
export class Facts {
  readonly requests = new Map<number, Request>();
  /** What is committed, synced or not. */
  readonly records = new Map<string, OperationRecord>();
  /** How often something was done under a key. */
  readonly effects = new Map<string, number>();
  /** Keys of operations that somebody has decided about: discarded, reconciled, purged, handed to another owner. */
  readonly released = new Set<string>();
  /** By whom operations were handed to another owner while somebody else may have had them in flight without a lease. */
  readonly #handedInFlight = new Map<string, string>();
  /** Clients that are dead. */
  readonly dead = new Set<string>();
  /** Clients that were frozen at some time. */
  readonly frozen = new Set<string>();
  /** Whose operations somebody wanted removed. */
  readonly purged = new Set<string>();
  /** By how much clocks were put back, in all. */
  setBack = 0;
  jumps = 0;
  #jumpedAt = Number.NEGATIVE_INFINITY;
  /** Until when the clocks of those who live were apart. */
  #apartUntil = Number.NEGATIVE_INFINITY;
  /** When the store failed last. */
  storeFailedAt = Number.NEGATIVE_INFINITY;
  readonly #byKey = new Map<string, Request[]>();
  /** By the rendered key: what was removed by someone's call, or at the end of its time. */
  readonly #removed = new Map<string, OperationRecord>();

  see(event: ModelEvent): void {
    switch (event.what) {
      case "fetch": {
        const { request, who, key, url, token, at, clock } = event;
        const record = this.recordOf(event);
        const sent: Request = { request, who, key, url, token, record, at, clock, ending: undefined };
        this.requests.set(request, sent);
        this.#byKey.set(key, [...this.requestsOf(key), sent]);
        break;
      }
      case "end": {
        const { at: _, who: __, clock: ___, what: ____, request, ...ending } = event;
        const sent = this.requests.get(request);
        if (sent) sent.ending = ending;
        break;
      }
      case "write":
        this.#write(event.who, event.before, event.after);
        break;
      case "power":
        this.records.clear();
        for (const record of event.records) this.records.set(record.id, record);
        for (const { who } of this.requests.values()) this.dead.add(who);
        break;
      case "effect":
        this.effects.set(event.key, this.effectsOf(event.key) + 1);
        break;
      case "crash":
      case "closed":
        this.dead.add(event.who);
        break;
      case "freeze":
        this.frozen.add(event.who);
        break;
      case "jump":
        this.jumps += 1;
        this.#jumpedAt = event.at;
        this.setBack += Math.max(0, -event.by);
        break;
      case "apart":
        this.#apartUntil = Number.POSITIVE_INFINITY;
        break;
      case "together":
        this.#apartUntil = event.at;
        break;
      case "fault":
        this.storeFailedAt = event.at;
        break;
      case "action":
        if (event.action.do === "purge") this.purged.add(event.action.owner);
        // Whoever is signed in: not worth telling apart.
        if (event.action.do === "signOut" && event.action.purge)
          for (const who of ["alice", "bob"]) this.purged.add(who);
        break;
    }
  }

  /** Whether an operation was removed that had this key: a caller may give it, and its id, to the next one. */
  wasRemoved(key: string): boolean {
    return this.#removed.has(key);
  }

  /** Whether clocks were apart, now or earlier. */
  get wereApart(): boolean {
    return this.#apartUntil > Number.NEGATIVE_INFINITY;
  }

  /** What was recorded of a request, also where that was removed and its id was given to another operation. */
  recordOf({ key, durable }: Sent): OperationRecord | undefined {
    return durable?.wire.value === key ? durable : (this.#removed.get(key) ?? durable);
  }

  /** Whether it was handed to another owner by somebody who cannot know of this client's attempt. */
  wasHandedInFlight(id: string, who: string): boolean {
    return this.#handedInFlight.has(id) && this.#handedInFlight.get(id) !== who;
  }

  requestsOf(key: string): readonly Request[] {
    return this.#byKey.get(key) ?? [];
  }

  effectsOf(key: string): number {
    return this.effects.get(key) ?? 0;
  }

  /** The first request of a key that may have been applied, as far as its client can know. */
  firstUncertain(key: string, of?: OperationRecord): Request | undefined {
    const isOfIt = (record: OperationRecord | undefined): boolean => record?.id === of?.id && record?.seq === of?.seq;
    return this.requestsOf(key).find(({ ending, record }) => !provesNothingDone(ending) && (!of || isOfIt(record)));
  }

  /** Requests of an operation to whose end somebody still waits. A lease that cannot be renewed, or is read on another clock, may be over. */
  underWay({ id, seq }: OperationRecord): readonly (Request & { readonly mayBeLost: boolean })[] {
    return [...this.requests.values()]
      .filter(({ record }) => record?.id === id && record.seq === seq)
      .filter(({ who, ending }) => ending === undefined && !this.dead.has(who))
      .map((request) => ({ ...request, mayBeLost: this.#mayBeLost(request) }));
  }

  #mayBeLost({ who, at }: Request): boolean {
    const lately = Math.max(this.storeFailedAt, this.#jumpedAt, this.#apartUntil);
    return this.frozen.has(who) || lately > at - 60_000;
  }

  /** Keys under which this operation was sent. What had its id before, and was removed, was another one. */
  keysOf({ id, seq }: OperationRecord): readonly string[] {
    const isOfIt = ({ record }: Request): boolean => record?.id === id && record.seq === seq;
    const keys = [...this.requests.values()].filter(isOfIt).map(({ key }) => key);
    return [...new Set(keys)];
  }

  /** Whether the server refused for good what was asked under this key, and its client heard all of it. */
  wasRefusedForGood(key: string): boolean {
    return this.requestsOf(key).some(
      ({ ending }) => ending?.how === "answer" && ending.status >= 400 && speaks(ending),
    );
  }

  #write(who: string, before: OperationRecord | undefined, after: OperationRecord | undefined): void {
    const id = (after ?? before)?.id ?? "";
    if (after) this.records.set(id, after);
    else this.records.delete(id);
    if (before && !after) this.#removed.set(before.wire.value, before);
    const isHanded = before !== undefined && after !== undefined && before.owner !== after.owner;
    if (isHanded && (this.jumps > 0 || this.frozen.size > 0)) this.#handedInFlight.set(id, who);
    const decided = !after || after.resolution !== undefined || isHanded;
    if (decided && before) for (const key of [before.key, ...this.keysOf(before)]) this.released.add(key);
  }
}

type Answered = Extract<Ending, { how: "answer" }>;

/** The server has bound the answer to the key. */
export function speaks({ headers }: Answered): boolean {
  return "idempotency-status" in headers || "idempotency-replayed" in headers;
}

/** Written anew from the design, so that a fault of the client's own table cannot hide here. */
export function provesNothingDone(ending: Ending | undefined): boolean {
  if (ending?.how === "unsent") return true;
  if (ending?.how !== "answer") return false;
  const { status, headers } = ending;
  if (speaks(ending)) return status >= 400;
  if (status === 422) return !(headers["content-type"] ?? "").includes("problem");
  // Somewhere else is to be asked.
  if (status === 307 || status === 308) return true;
  if (status === 501 || status === 505 || status === 511) return true;
  return status >= 400 && status < 500 && ![408, 409, 423].includes(status);
}
