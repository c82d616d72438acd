import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { commitFinder, commitResult, framer } from "./pg-wire.js";

/** What becomes of a COMMIT: it never arrives, or its answer never does. */
export type CommitFault = "lost on the way there" | "lost on the way back";

/** Stands between programs and their Postgres, and fails the way networks do. */
export interface PgProxy {
  /** The connection string of the database behind it. */
  readonly url: string;
  /** Cuts the connection at the next COMMIT. Resolves when it has. */
  atCommit(fault: CommitFault): Promise<void>;
  /** Resets every connection there is now. */
  cut(): void;
  /** From now on nothing gets through the connections there are now, not even their end. New ones work. */
  swallow(): void;
  close(): Promise<void>;
}

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  dead: boolean;
}

/** @param target - the database's connection string at the time of asking: it may move */
export async function startPgProxy(target: () => string): Promise<PgProxy> {
  const pairs = new Set<Pair>();
  let armed: { readonly fault: CommitFault; readonly struck: () => void } | undefined;

  function reset(pair: Pair): void {
    pairs.delete(pair);
    pair.client.resetAndDestroy();
    pair.server.resetAndDestroy();
  }

  function strike(pair: Pair): void {
    reset(pair);
    armed?.struck();
    armed = undefined;
  }

  function join(pair: Pair): void {
    const { client, server } = pair;
    const [fromClient, fromServer, isCommit] = [framer("client"), framer("server"), commitFinder()];
    let awaiting = false;
    client.on("data", (chunk) => {
      for (const message of fromClient(chunk)) {
        if (pair.dead) return;
        if (isCommit(message) && armed !== undefined && !awaiting) {
          if (armed.fault === "lost on the way there") return strike(pair);
          awaiting = true;
        }
        server.write(message.bytes);
      }
    });
    server.on("data", (chunk) => {
      for (const message of fromServer(chunk)) {
        if (pair.dead) return;
        const result = awaiting ? commitResult(message) : undefined;
        if (result === "committed") return strike(pair);
        if (result === "failed") awaiting = false;
        client.write(message.bytes);
      }
    });
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      one.on("error", () => {});
      one.on("close", () => {
        if (pair.dead) return;
        pairs.delete(pair);
        other.destroy();
      });
    }
  }

  const listener = createServer((client) => {
    const { hostname, port } = new URL(target());
    const pair = { client, server: connect({ host: hostname, port: Number(port), noDelay: true }), dead: false };
    client.setNoDelay(true);
    pairs.add(pair);
    join(pair);
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const url = new URL(target());
  url.host = `127.0.0.1:${(listener.address() as { port: number }).port}`;

  const cut = (): void => {
    for (const pair of pairs) reset(pair);
  };
  return {
    url: url.href,
    atCommit: (fault) =>
      new Promise((struck) => {
        armed = { fault, struck };
      }),
    cut,
    swallow: () => {
      for (const pair of pairs) pair.dead = true;
    },
    close: async () => {
      cut();
      listener.close();
      await once(listener, "close");
    },
  };
}
