import { MisuseError } from "../../errors.js";
import type { Connection, QueryResult } from "../driver.js";

/** A statement with `$1`, `$2`… in it. */
export interface Statement {
  readonly text: string;
  /** By which a driver may prepare it, once for each connection. Nobody else's, and no other text's. */
  readonly name?: string;
  readonly values?: readonly unknown[];
}

/** How a last statement went, and the COMMIT behind it. Neither tells of the other's end. */
export interface Ending {
  readonly done: Promise<unknown>;
  /** Its command tag is `ROLLBACK` where a statement had failed. */
  readonly committed: Promise<Pick<QueryResult, "command">>;
}

/**
 * One connection, for one transaction after the other: the same to the engine whatever drives it.
 *
 * Statements are sent in the order of the calls and need not be awaited one by one: a driver that pipelines sends what
 * is called in one go in one flush.
 */
export interface Session<Tx = unknown> extends Pick<Connection, "query" | "release"> {
  /**
   * What the handler receives, once `begin` has ended. From `commit` or `rollback` on it refuses statements: those of a
   * promise that nobody awaited would go on behind the transaction, or in a stranger's.
   */
  readonly tx: Tx;
  /** The connection is gone, as far as the driver has noticed. */
  readonly lost: boolean;
  /** @param settings - a statement to begin with */
  begin(settings?: string): Promise<unknown>;
  /**
   * Begins, and asks for one value, in as few flushes as the driver can.
   *
   * @param last - what {@link commitAfter} will be given, if it is
   */
  beginAndAsk(question: Statement, last: Statement): Promise<string>;
  /** Its command tag is `ROLLBACK` where a statement had failed. */
  commit(): Promise<Pick<QueryResult, "command">>;
  /** One more statement, and COMMIT, in as few flushes as the driver can. */
  commitAfter(last: Statement): Ending;
  rollback(): Promise<unknown>;
  /**
   * Ends the session under a handler that may still be at work: nothing of what that does on `tx` may last.
   *
   * @param handled - settles when the handler has ended
   * @param patience - how long that may take, ms, where it is waited for
   */
  abandon(handled: Promise<unknown>, patience: number): void;
}

/** Where sessions come from. */
export interface Sessions<Tx = unknown> {
  connect(): Promise<Session<Tx>>;
}

/** BEGIN for connections of our own. The look after the lock must see what was committed meanwhile: READ COMMITTED. */
export function beginning(settings: string | undefined): string {
  return `BEGIN ISOLATION LEVEL READ COMMITTED${settings === undefined ? "" : `; ${settings}`}`;
}

/** {@link Session.beginAndAsk} by statements of their own, on their way before any is awaited. */
export async function beginThenAsk(session: Session, { text, values }: Statement): Promise<string> {
  const sent = [session.begin(), session.query(text, values && [...values])] as const;
  // A rejection that nobody awaits yet would be "unhandled", and a query still queued must not outlive the release.
  await Promise.allSettled(sent);
  const [, { rows }] = await Promise.all(sent);
  return Object.values(rows[0])[0] as string;
}

/** {@link Session.commitAfter} by statements of their own. */
export function commitBehind(session: Session, { text, values }: Statement): Ending {
  return { done: session.query(text, values && [...values]), committed: session.commit() };
}

/** A statement came after the end. */
export function transactionOver(): MisuseError {
  return new MisuseError("bad_option", {
    detail: "`tx` was used after its handler had ended or was past its deadline: await everything done on it",
  });
}

const comment = String.raw`--[^\n]*\n|/\*[^]*?\*/`;
const control = new RegExp(
  String.raw`^(?:\s|${comment})*(?:begin|start\s+transaction|commit|end|abort|prepare\s+transaction|rollback(?!\s+(?:(?:work|transaction)\s+)?to\b))\b`,
  "i",
);

/** What a `;` or a word means nothing in. A doubled quote makes two of one, which is the same here. */
const opaque =
  /\be'[^'\\]*(?:\\[\s\S][^'\\]*)*'|'[^']*'|"[^"]*"|(\$(?:[a-z_]\w*)?\$)[\s\S]*?\1|--[^\n]*|\/\*[\s\S]*?\*\//gi;

/** Whether one of the statements begins a transaction or ends the one that it runs in. Savepoints do neither. */
export function controlsTransaction(text: unknown): boolean {
  if (typeof text !== "string") return false;
  if (control.test(text)) return true;
  // Sent without parameters, there may be several.
  if (!text.includes(";")) return false;
  const bare = text.replace(opaque, " ");
  // The END of a function in standard SQL is its own.
  return !/\bbegin\s+atomic\b/i.test(bare) && bare.split(";").some((statement) => control.test(statement));
}

/** Whether a statement may do away with what is prepared on its connection, by itself or within another one. */
export function deallocates(text: unknown): boolean {
  return typeof text === "string" && /\bdeallocate\b/i.test(text);
}

/** A handler that ends its transaction would leave effects without their record, to be done a second time. */
export function notTheirsToEnd(): MisuseError {
  return new MisuseError("bad_option", {
    detail:
      "the handler runs in samekey's transaction, which it may neither end nor begin anew (BEGIN, COMMIT, ROLLBACK, " +
      "`drizzle(tx).transaction()`): leave that out, and throw or refuse to undo everything; for a part, use SAVEPOINT",
  });
}

/** A handler must not give the connection back. */
export function notTheirs(): never {
  throw new MisuseError("bad_option", { detail: "`tx` was released by its handler: that is samekey's to do" });
}
