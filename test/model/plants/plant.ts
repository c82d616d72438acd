/** A bug that somebody might make, as a change of the sources. */
export interface Plant {
  readonly name: string;
  /** Which invariants may find it. */
  readonly breaks: readonly string[];
  readonly changes: readonly Change[];
  /** A seed that finds it, to be tried first: where it does no more, the search is only longer. */
  readonly seed?: number;
}

/** One change; what is replaced has to stand in the file exactly once. */
export interface Change {
  /** Below `src`. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}
