import type { Emitter } from "./events.js";

/** Whose operations may be sent now: the present owner's, and those that a caller named himself. */
export class Owners {
  readonly #ask: () => string | undefined;
  readonly #emitter: Emitter;
  readonly #grants = new Map<string, number>();
  #last: string | undefined;
  #looked = false;
  #signedOut: string | undefined;

  constructor(ask: () => string | undefined, emitter: Emitter) {
    this.#ask = ask;
    this.#emitter = emitter;
  }

  /** Who the program says is signed in. */
  asked(): string | undefined {
    return this.#ask();
  }

  /** Who is signed in, if anyone is. */
  present(): string | undefined {
    const asked = this.#ask();
    if (asked !== this.#signedOut) this.#signedOut = undefined;
    // After signOut() the program may still hold the old session for a moment.
    const owner = asked === this.#signedOut ? undefined : asked;
    const previous = this.#last;
    const changed = this.#looked && owner !== previous;
    this.#looked = true;
    this.#last = owner;
    if (changed) this.#emitter.emit("ownerchange", { owner, previous });
    return owner;
  }

  mayAct(owner: string): boolean {
    return this.#grants.has("*") || this.#grants.has(owner) || this.present() === owner;
  }

  /** Every owner that {@link mayAct} says yes to now; `undefined` for all of them. */
  acting(): readonly string[] | undefined {
    if (this.#grants.has("*")) return undefined;
    const present = this.present();
    return [...new Set([...this.#grants.keys(), ...(present === undefined ? [] : [present])])];
  }

  /** Lets this owner's operations be sent, whoever is signed in, until the answer is called. */
  grant(owner: string): () => void {
    this.#grants.set(owner, (this.#grants.get(owner) ?? 0) + 1);
    let held = true;
    return () => {
      const count = this.#grants.get(owner) ?? 0;
      if (!held || count === 0) return;
      held = false;
      if (count === 1) this.#grants.delete(owner);
      else this.#grants.set(owner, count - 1);
    };
  }

  signOut(owner: string): void {
    this.#signedOut = owner;
    this.#grants.delete(owner);
    this.present();
  }

  /** Someone acts for the owner: that is a new session, should he have signed out before. */
  signIn(): void {
    this.#signedOut = undefined;
  }
}
