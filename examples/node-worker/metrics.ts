import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import client from "prom-client";
import type { Telemetry } from "samekey";
import { prometheus } from "samekey/telemetry";

/** For `createSdk`. */
export const telemetry: Telemetry = prometheus(client);

/**
 * Serves what Prometheus scrapes, for this machine alone. It does not keep the process alive.
 *
 * @param port - 0 for any that is free
 * @returns where
 */
export async function serveMetrics(port: number): Promise<string> {
  const server = createServer(async ({ url }, response) => {
    if (url !== "/metrics") return response.writeHead(404).end();
    const text = await client.register.metrics();
    return response.writeHead(200, { "content-type": client.register.contentType }).end(text);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  server.unref();
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`;
}
