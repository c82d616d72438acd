import { createSdk, post, type SdkOptions } from "samekey";
import { memoryStore } from "samekey/stores/memory";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type ReferenceServer, startReferenceServer } from "../../../examples/reference-server/start.js";
import { startPostgres, type TestPostgres } from "../../support/postgres.js";

const hour = 3_600_000;
const operations = { transfer: post<{ src: number; dst: number; amount: number }>("/transfers") };
const body = { src: 1, dst: 2, amount: 5 };

let postgres: TestPostgres;
let server: ReferenceServer;

beforeAll(async () => {
  postgres = await startPostgres();
  server = await startReferenceServer({ databaseUrl: postgres.url, retention: "12h" });
}, 60_000);

afterAll(async () => {
  await server.close();
  await postgres.stop();
});

function open(options: Pick<SdkOptions, "discover" | "retention" | "profile">) {
  const log = vi.fn();
  /** What came from `/.well-known/idempotency`. */
  const told: unknown[] = [];
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const response = await globalThis.fetch(input, init);
    if (String(input).endsWith("/.well-known/idempotency")) told.push(await response.clone().json());
    return response;
  };
  const common = { name: "discover", owner: "single", baseUrl: server.url, store: memoryStore() } as const;
  return { sdk: createSdk({ ...common, operations, fetch, log, ...options }), log, told };
}

describe("an Sdk that discovers the reference server's contract", () => {
  it("keeps to the shorter retention that it tells", async () => {
    const { sdk, log, told } = open({ discover: true, retention: "24h" });
    sdk.start();
    await vi.waitFor(() => expect(told).toMatchObject([{ header: "Idempotency-Key", retention: 43_200 }]));
    await vi.waitFor(async () => {
      const { id } = await sdk.operation("transfer", body).send();
      expect((await sdk.get(id))?.wire.retention).toBe(12 * hour);
    });
    expect(log).not.toHaveBeenCalled();
    await sdk.close();
  });

  it("believes in no longer one", async () => {
    const { sdk, log, told } = open({ discover: true, retention: "1h" });
    sdk.start();
    await vi.waitFor(() => expect(told).toHaveLength(1));
    // By the time that an answer is here, what was told before has been read.
    await sdk.operation("transfer", body).send();
    const { id } = await sdk.operation("transfer", body).send();
    expect((await sdk.get(id))?.wire.retention).toBe(hour);
    expect(log).not.toHaveBeenCalled();
    await sdk.close();
  });

  it("is told of the header's name where it is configured otherwise", async () => {
    const profile = { name: "other", header: "x-request-id" };
    const { sdk, log } = open({ discover: true, retention: "24h", profile });
    sdk.start();
    await vi.waitFor(() =>
      expect(log).toHaveBeenCalledWith(
        expect.objectContaining({ level: "warn", name: "transfer", message: expect.stringContaining("x-request-id") }),
      ),
    );
    await sdk.close();
  });
});
