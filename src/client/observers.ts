import type { OperationRecord } from "../core/record.js";
import type { Store } from "../store.js";
import { heard } from "./events.js";
import type { Live } from "./live.js";
import type {
  AttemptEnd,
  AttemptObserver,
  CallObserver,
  ObservedCall,
  ObservedSdk,
  Observer,
  Telemetry,
} from "./telemetry.js";
import type { LogEntry } from "./types.js";

/** What every observer answered for one call. */
type Calls = readonly (CallObserver | undefined)[];

/** Where an observed attempt is made. */
export interface AttemptScope {
  readonly headers: Headers;
  /** Calls `work` in the context of the attempt. */
  run<T>(work: () => T): T;
}

/** Tells all who watch an sdk; one that throws is logged and harms nobody. */
export class Observers {
  readonly #log: (entry: LogEntry) => void;
  readonly #all: readonly Observer[];
  readonly #calls = new WeakMap<Live, Calls>();
  readonly #followsCalls: boolean;

  constructor(telemetry: readonly Telemetry[], sdk: ObservedSdk, log: (entry: LogEntry) => void) {
    this.#log = log;
    this.#all = telemetry.flatMap((one) => this.#safely(() => one.join(sdk)) ?? []);
    this.#followsCalls = this.#all.some(({ onCall }) => onCall);
  }

  #safely<T>(work: () => T): T | undefined {
    const failed = (cause: unknown): undefined =>
      void this.#log({ level: "error", message: "telemetry failed", cause });
    try {
      return heard(work(), failed);
    } catch (cause) {
      return failed(cause);
    }
  }

  store(store: Store): Store {
    return this.#all.reduce((inner, observer) => this.#safely(() => observer.onStore?.(inner)) ?? inner, store);
  }

  close(): void {
    for (const observer of this.#all) this.#safely(() => observer.onClose?.());
  }

  /** Follows a call of the program's, from its beginning to its end. */
  call(kind: ObservedCall["kind"], live: Live, work: () => Promise<OperationRecord>): Promise<OperationRecord> {
    return this.#followsCalls ? this.#follow(kind, live, work) : work();
  }

  async #follow(
    kind: ObservedCall["kind"],
    live: Live,
    work: () => Promise<OperationRecord>,
  ): Promise<OperationRecord> {
    const operation = live.draft?.operation.name ?? live.record?.name;
    const calls = this.#all.map((observer) => this.#safely(() => observer.onCall?.({ kind, operation })));
    const end = (record: OperationRecord | undefined, error?: unknown): void => {
      for (const call of calls) this.#safely(() => call?.end(record, error));
    };
    // Of several that wait for one operation, the first has its attempts made.
    if (live.waiting === 1 || !this.#calls.has(live)) this.#calls.set(live, calls);
    try {
      const record = await work();
      end(record);
      return record;
    } catch (error) {
      end(live.record, error);
      throw error;
    }
  }

  /** What is kept with the record that a call makes. */
  traceparent(live: Live): string | undefined {
    return this.#calls.get(live)?.find((call) => call?.traceparent !== undefined)?.traceparent;
  }

  /** Follows one attempt. `make` never rejects. */
  async attempt<Made extends { readonly ended: AttemptEnd }>(
    record: OperationRecord,
    lives: readonly Live[],
    isBase: boolean,
    make: (scope?: AttemptScope) => Promise<Made>,
  ): Promise<Made> {
    if (this.#all.length === 0) return make();
    const calls = lives.map((live) => this.#calls.get(live)).find((found) => found !== undefined);
    const watching = this.#all.flatMap(
      (observer, i) => this.#safely(() => observer.onAttempt?.({ record, call: calls?.[i], isBase })) ?? [],
    );
    const isScoped = watching.some((one) => this.#safely(() => one.headers ?? one.run));
    const made = await (isScoped ? this.#scoped(watching, make) : make());
    for (const one of watching) this.#safely(() => one.end(made.ended));
    return made;
  }

  #scoped<T>(watching: readonly AttemptObserver[], make: (scope: AttemptScope) => Promise<T>): Promise<T> {
    const headers = new Headers();
    for (const one of watching) {
      this.#safely(() => {
        for (const [name, value] of Object.entries(one.headers ?? {})) headers.set(name, value);
      });
    }
    const run = <R>(work: () => R): R => watching.reduceRight((inner, one) => this.#nested(one, inner), work)();
    return run(() => make({ headers, run }));
  }

  /** `work` within an observer's context: called once, whatever the observer does, and what it throws is passed on. */
  #nested<T>(observer: AttemptObserver, work: () => T): () => T {
    return () => {
      let done: (() => T) | undefined;
      let fault: unknown;
      const once = (): T => {
        if (!done) {
          try {
            const answer = work();
            done = () => answer;
          } catch (error) {
            fault = error;
            done = () => {
              throw error;
            };
          }
        }
        return done();
      };
      this.#safely(() => {
        try {
          heard(observer.run?.(once), () => {});
        } catch (cause) {
          if (cause !== fault) throw cause;
        }
      });
      return once();
    };
  }
}
