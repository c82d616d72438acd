import type { CallOptions, OperationHandle, Outcome, Sdk, Snapshot } from "../index.js";
import type { OperationState } from "./types.js";

/** What an observer needs of an Sdk, whatever its operations. */
export interface ObservedSdk extends Pick<Sdk, "on" | "pending"> {
  operation(name: string, body: unknown, call: CallOptions): OperationHandle;
  attach(reference: { readonly name: string; readonly intent: string }): OperationHandle;
}

/** A state of any operation. */
export type AnyState = OperationState<[body?: unknown, options?: CallOptions], unknown, unknown>;

interface Sending {
  readonly body: string;
  readonly outcome: Promise<Outcome>;
}

/** How the waiting ended, and what the operation showed at that moment. */
interface Told {
  readonly outcome: Outcome;
  readonly shown: Snapshot;
}

const IDLE: Snapshot = Object.freeze({
  id: undefined,
  name: undefined,
  intent: undefined,
  state: "idle",
  input: undefined,
  attempts: 0,
  nextAttemptAt: undefined,
  offline: false,
  mayHaveBeenApplied: false,
});

/** The operation that one component shows. Nothing is read before it is subscribed to. */
export class OperationObserver {
  readonly #sdk: ObservedSdk;
  readonly #name: string;
  readonly #intent: string | undefined;
  readonly #idle: AnyState;
  #state: AnyState;
  #listener: (() => void) | undefined;
  #disconnect: () => void = nothing;
  #handle: OperationHandle | undefined;
  #unfollow: () => void = nothing;
  #sending: OperationHandle | undefined;
  #told: Told | undefined;
  #waiting = new AbortController();
  /** What was sent since the component was mounted. */
  #sent: readonly Sending[] = [];
  /** What a component that was unmounted in this very task had sent: mounted again, it sends it again. */
  #replayed: readonly Sending[] = [];

  constructor(sdk: ObservedSdk, name: string, intent: string | undefined) {
    this.#sdk = sdk;
    this.#name = name;
    this.#intent = intent;
    this.#idle = this.#stateOf(IDLE, undefined);
    this.#state = this.#idle;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listener = listener;
    this.#connect();
    return () => {
      this.#listener = undefined;
      this.#disconnect();
      this.#replayed = this.#sent;
      this.#sent = [];
      // StrictMode mounts again in the same task: that ends no waiting.
      queueMicrotask(() => {
        this.#replayed = [];
        if (this.#listener) return;
        this.#waiting.abort(new DOMException("the component was unmounted", "AbortError"));
        this.#waiting = new AbortController();
      });
    };
  };

  readonly getSnapshot = (): AnyState => this.#state;

  readonly getServerSnapshot = (): AnyState => this.#idle;

  readonly send: AnyState["send"] = (body, options = {}) => {
    const handle = this.#sdk.operation(this.#name, body, { ...options, intent: options.intent ?? this.#intent });
    const written = textOf(handle.getSnapshot().input);
    const replayed = this.#replayed.find((sending) => sending.body === written);
    if (replayed) {
      this.#replayed = this.#replayed.filter((sending) => sending !== replayed);
      this.#sent = [...this.#sent, replayed];
      return replayed.outcome;
    }
    const { signal } = this.#waiting;
    this.#sending = handle;
    this.#told = undefined;
    const outcome = handle.outcome({ signal });
    this.#sent = [...this.#sent, { body: written, outcome }];
    this.#handle = handle;
    this.#follow();
    void outcome.then((told) => {
      this.#sent = this.#sent.filter((sending) => sending.outcome !== outcome);
      if (this.#sending === handle) this.#sending = undefined;
      if (this.#handle !== handle) return;
      if (!signal.aborted) this.#told = { outcome: told, shown: handle.getSnapshot() };
      this.#update();
    });
    return outcome;
  };

  #connect(): void {
    const stops = [this.#sdk.on("ownerchange", () => this.#reset())];
    this.#disconnect = () => {
      for (const stop of stops) stop();
      this.#unfollow();
      this.#unfollow = nothing;
    };
    if (this.#intent !== undefined) {
      stops.push(this.#sdk.pending.subscribe(() => this.#look()));
      if (!this.#handle) this.#attach(this.#intent);
    }
    this.#follow();
  }

  /** Somebody else is signed in, to whom the operation is not to be shown. */
  #reset(): void {
    this.#handle = undefined;
    this.#sending = undefined;
    this.#told = undefined;
    if (this.#intent !== undefined) this.#attach(this.#intent);
    this.#follow();
  }

  #attach(intent: string): void {
    this.#handle = this.#sdk.attach({ name: this.#name, intent });
  }

  /** The intent may have been recorded elsewhere meanwhile: by another component or in another tab. */
  #look(): void {
    const intent = this.#intent;
    if (intent === undefined || this.#sending) return;
    const item = this.#sdk.pending.getSnapshot().find((each) => each.intent === intent && each.name === this.#name);
    if (!item || item.id === this.#handle?.getSnapshot().id) return;
    this.#told = undefined;
    this.#attach(intent);
    this.#follow();
  }

  #follow(): void {
    const handle = this.#handle;
    this.#unfollow();
    this.#unfollow = nothing;
    if (handle && this.#listener) {
      const stop = handle.subscribe(() => this.#update());
      // To look up whose it is may have told that somebody else is signed in.
      if (this.#handle === handle) this.#unfollow = stop;
      else stop();
    }
    this.#update();
  }

  #update(): void {
    const handle = this.#handle;
    const shown = handle?.getSnapshot() ?? IDLE;
    // Its outcome is being read: both are shown at once.
    if (isOver(shown) && !shown.outcome) return;
    const next = this.#stateOf(shown, this.#toldOf(shown));
    if (isSame(this.#state, next)) return;
    this.#state = next;
    this.#listener?.();
  }

  #toldOf(shown: Snapshot): Outcome | undefined {
    if (shown.outcome || !this.#told) return shown.outcome;
    const { outcome } = this.#told;
    // It went on since.
    if ((outcome.state === "pending" || outcome.state === "blocked") && shown !== this.#told.shown) return undefined;
    return outcome;
  }

  #stateOf(shown: Snapshot, outcome: Outcome | undefined): AnyState {
    const isBeingSaved = shown.state === "idle" && this.#sending !== undefined;
    return Object.freeze({
      ...shown,
      state: isBeingSaved ? "pending" : shown.state,
      outcome,
      data: outcome?.state === "succeeded" ? outcome.result.data : undefined,
      error: outcome && "error" in outcome ? outcome.error : undefined,
      send: this.send,
    });
  }
}

function nothing(): void {}

function isOver({ state }: Snapshot): boolean {
  return state !== "idle" && state !== "pending";
}

function isSame(a: AnyState, b: AnyState): boolean {
  return (Object.keys(b) as (keyof AnyState)[]).every((name) => name === "input" || a[name] === b[name]);
}

/** A body as text, to tell whether it is the same. */
function textOf(input: unknown): string {
  return JSON.stringify(input instanceof ArrayBuffer ? [...new Uint8Array(input)] : input) ?? "";
}
