/** What the program is started with. */
export interface RetentionProgram {
  readonly url: string;
  readonly schema: string;
  /** It stands still before the first statement that has this in it… */
  readonly before: string;
  /** …or before the COMMIT that follows. */
  readonly thenCommit: boolean;
}
