import type { Store } from "../../store.js";

/** How the last transaction that wrote was committed. */
export type SyncLevel = "strict" | "relaxed";

/** One store under test, with nothing in it. */
export interface ContractSubject {
  /** Already open. */
  readonly store: Store;
  /** Closes every handle and opens the same data again. */
  reopen(): Promise<Store>;
  /** Another open handle on the same data; where there is no such thing, the store itself. */
  second(): Promise<Store>;
  /** Where it can be told; `undefined` before the first write. */
  lastSync?(): SyncLevel | undefined;
  /** Makes every later read fail, where that can be done. */
  breakReads?(): Promise<void>;
  /** Closes what is open and removes the data. */
  destroy(): Promise<void>;
}

/** Makes stores to try the contract on. */
export interface ContractHarness {
  create(): Promise<ContractSubject>;
}

/** One case of the contract. */
export interface ContractCase {
  readonly name: string;
  /** The field case behind it. */
  readonly case?: string | undefined;
  /** Throws where the store differs. */
  run(harness: ContractHarness): Promise<void>;
}

/** A case that gets a fresh store and leaves none behind. */
export function on(name: string, body: (subject: ContractSubject) => Promise<void>, field?: string): ContractCase {
  return {
    name,
    ...(field === undefined ? {} : { case: field }),
    async run(harness) {
      const subject = await harness.create();
      try {
        await body(subject);
      } finally {
        await subject.destroy();
      }
    },
  };
}
