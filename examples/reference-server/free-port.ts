import { createServer } from "node:net";

/** A port of this machine that nobody listens on. */
export function freePort(): Promise<number> {
  return new Promise((done, fail) => {
    const server = createServer().once("error", fail);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => done(port));
    });
  });
}
