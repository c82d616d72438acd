/** What sealing needs of a cipher: keys by their ids, and bytes that open only where they were sealed. */

import type { StoreContext } from "../store.js";

/** Why something cannot be opened: there is no such key, or the bytes are not what that key sealed in this place. */
export type Closed = "no_key" | "damaged";

/** Something sealed, and the id of the key it is sealed under. */
export interface SealedBytes {
  readonly key: string;
  readonly bytes: ArrayBuffer;
}

/** Keys by their ids: one seals, all open. */
export interface Cipher {
  /**
   * Has the keys at hand. Called before all else.
   *
   * @throws MisuseError `bad_option`, StoreError `unavailable`
   */
  load(context: StoreContext): Promise<void>;
  /** The id of the key that seals. */
  readonly current: string;
  /** Seals `plain` for the place that `bound` names. */
  seal(plain: BufferSource, bound: readonly unknown[]): Promise<SealedBytes>;
  /** Opens what was sealed for the same place. */
  open(bytes: ArrayBuffer, bound: readonly unknown[]): Promise<ArrayBuffer | Closed>;
}
