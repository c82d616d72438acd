/** Programs for plain Node. */
export interface Bundled {
  /** Where they are, each under its own name with `.js`. */
  readonly directory: string;
  remove(): void;
}

/**
 * Makes programs out of TypeScript, with `samekey` taken from the sources as they stand, whatever `dist` holds.
 *
 * @param sources - paths of files, each of another name
 */
export function bundle(...sources: readonly string[]): Promise<Bundled>;
