/** Thrown by a verb that has said all it has to say, and ends with a code of its own. */
export class Exit extends Error {
  readonly exitCode: number;

  constructor(exitCode: number) {
    super(`exit code ${exitCode}`);
    this.exitCode = exitCode;
  }
}
