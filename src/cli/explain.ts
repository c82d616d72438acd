/**
 * What went wrong, for stderr: one line, or where it shall be `verbose` the stack and those of its causes.
 *
 * A database's URL may stand in the arguments, in the environment, and in what a driver says of it: its password goes
 * nowhere.
 */
export function explain(error: unknown, verbose = false): string {
  const text = verbose ? stacks(error) : `samekey: ${messageOf(error).replace(/\s*\n\s*/g, " ")}`;
  return withoutPasswords(text);
}

function messageOf(error: unknown): string {
  // Node tries several addresses, and leaves the message of what became of them empty.
  if (error instanceof AggregateError && error.message === "") return error.errors.map(messageOf).join("; ");
  const message = error instanceof Error ? error.message || error.name : String(error);
  return pgHasNoPassword.test(message) ? wantsPassword : message;
}

const pgHasNoPassword = /client password must be a (non-empty )?string/;
const wantsPassword =
  "the database wants a password, and none was given: set PGPASSWORD, or put it into ~/.pgpass or the URL";

function stacks(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const inner = error instanceof AggregateError ? error.errors : error.cause === undefined ? [] : [error.cause];
  return [error.stack ?? messageOf(error), ...inner.map((one) => `caused by ${stacks(one)}`)].join("\n");
}

function withoutPasswords(text: string): string {
  return text.replace(/(\w+:\/\/[^\s:@/]*):\S*@/g, "$1:***@");
}
