import { createSdk, post } from "samekey";
import { memoryStore } from "samekey/stores/memory";
import { afterEach } from "vitest";
import { startHttpServer } from "./http-server.js";

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** A server that answers transfers so, and an sdk that sends them; both are closed after the test. */
export async function startTransfers(answer: Parameters<typeof startHttpServer>[0]) {
  const server = await startHttpServer(answer);
  const sdk = createSdk({
    name: "transfers",
    baseUrl: server.url,
    owner: "single",
    retention: "24h",
    store: memoryStore(),
    operations: { transfer: post<{ amount: number }>("/transfers") },
  });
  closers.push(
    () => sdk.close({ timeout: 0 }),
    () => server.close(),
  );
  return { server, sdk };
}
