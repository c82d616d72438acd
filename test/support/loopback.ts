import { createServer, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** An HTTP server on loopback. */
export interface Loopback {
  readonly url: string;
  readonly port: number;
  /** Ends it, and all its connections with it. */
  close(): Promise<void>;
}

/**
 * Serves on loopback.
 *
 * @param port - @defaultValue a free one
 */
export async function serve(handle: RequestListener, port = 0): Promise<Loopback> {
  const server = createServer(handle);
  await new Promise<void>((done) => server.listen(port, "127.0.0.1", done));
  const { port: taken } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${taken}`,
    port: taken,
    close: async () => {
      const closed = new Promise((done) => server.close(done));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Counts requests that come while another with the same key is still open. */
export class Overlaps {
  count = 0;
  readonly #open = new Map<string, number>();

  enter(key: string, response: ServerResponse): void {
    const others = this.#open.get(key) ?? 0;
    if (others > 0) this.count++;
    this.#open.set(key, others + 1);
    response.once("close", () => this.#open.set(key, (this.#open.get(key) ?? 1) - 1));
  }
}
