import type { Emitter } from "./events.js";

/** Whose operations may be sent now: the present owner's, and those that a caller named himself. */
export class Owners {
  readonly #ask: () => string | undefined;
  readonly #emitter: Emitter;
  /** By owner, one for each who was granted him. */
  readonly #grants = new Map<string, Set<unknown>>();
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
    const granted = this.#grants.get(owner) ?? new Set();
    this.#grants.set(owner, granted);
    const revoke = (): void => {
      granted.delete(revoke);
      // After a sign-out there may be others, which are not this one's to end.
      if (granted.size === 0 && this.#grants.get(owner) === granted) this.#grants.delete(owner);
    };
    granted.add(revoke);
    return revoke;
  }

  signOut(owner: string): void {
    // Another's sign-out, heard from elsewhere, does not bring back a session that is itself over.
    if (this.#ask() === owner) this.#signedOut = owner;
    this.#grants.delete(owner);
    // Told in any case: whoever asked a moment ago who is signed in may be about to act for him.
    this.#looked = true;
    this.#last = owner;
    this.present();
  }

  /** Someone acts for the owner: that is a new session, should he have signed out before. */
  signIn(): void {
    this.#signedOut = undefined;
  }
}
