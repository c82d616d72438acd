import type { Bank } from "./bank.js";

/** What is to befall the bank, and after how many transfers. */
export interface Trouble {
  readonly after: number;
  readonly what: (bank: Bank) => Promise<void>;
}

/** Lets troubles come, one at a time. */
export class Troubles {
  readonly #bank: Bank;
  readonly #planned: Trouble[];
  #now: Promise<void> = Promise.resolve();

  /** @param planned - the next one first */
  constructor(bank: Bank, planned: readonly Trouble[]) {
    this.#bank = bank;
    this.#planned = [...planned];
  }

  /** @param done - how many transfers there are by now */
  update(done: number): void {
    for (let next = this.#planned[0]; next !== undefined && next.after <= done; next = this.#planned[0]) {
      this.#planned.shift();
      const { what } = next;
      this.#now = this.#now.then(() => what(this.#bank));
      // Told by `over`.
      this.#now.catch(() => {});
    }
  }

  /** Resolves when all of them have come and gone. */
  over(): Promise<void> {
    this.update(Number.POSITIVE_INFINITY);
    return this.#now;
  }

  /** Calls off those that have not come yet. Resolves when there is none. */
  async callOff(): Promise<void> {
    this.#planned.length = 0;
    await this.#now.catch(() => {});
  }
}
