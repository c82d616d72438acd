/** As much of Postgres' protocol (version 3) as it takes to find the end of a transaction in a stream of bytes. */

/** One message, and the bytes that it came in. */
export interface Message {
  /** Its letter; "" for the first of a connection, which has none. */
  readonly type: string;
  readonly body: Buffer;
  readonly bytes: Buffer;
}

/**
 * Cuts a stream into messages, chunk by chunk.
 *
 * @param side - whose messages: a client's first one has no letter
 */
export function framer(side: "client" | "server"): (chunk: Buffer) => Message[] {
  let rest: Buffer = Buffer.alloc(0);
  let lettered = side === "server";

  function next(): Message | undefined {
    const start = lettered ? 1 : 0;
    if (rest.length < start + 4) return undefined;
    const length = start + rest.readInt32BE(start);
    if (rest.length < length) return undefined;
    const bytes = rest.subarray(0, length);
    rest = rest.subarray(length);
    const type = lettered ? String.fromCharCode(bytes.readUInt8(0)) : "";
    lettered = true;
    return { type, body: bytes.subarray(start + 4), bytes };
  }

  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    const messages: Message[] = [];
    for (let message = next(); message !== undefined; message = next()) messages.push(message);
    return messages;
  };
}

/** Tells which of a client's messages makes the server commit, in the simple and in the extended protocol. */
export function commitFinder(): (message: Message) => boolean {
  const statements = new Map<string, boolean>();
  const portals = new Map<string, boolean>();
  return ({ type, body }) => {
    const [first = "", second = ""] = body.toString("latin1").split("\0", 2);
    switch (type) {
      case "Q":
        return commits(first);
      case "P":
        statements.set(first, commits(second));
        return false;
      case "B":
        portals.set(first, statements.get(second) ?? false);
        return false;
      case "E":
        return portals.get(first) ?? false;
      default:
        return false;
    }
  };
}

/** What a server's message says about the COMMIT before it; undefined where it is about something else. */
export function commitResult({ type, body }: Message): "committed" | "failed" | undefined {
  if (type === "E") return "failed";
  const tag = type === "C" ? body.toString("latin1") : "";
  return tag === "COMMIT\0" ? "committed" : tag === "ROLLBACK\0" ? "failed" : undefined;
}

const commits = (sql: string): boolean => sql.split(";").some((statement) => /^\s*(commit|end)\b/i.test(statement));
