import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSdk, post, type Sdk } from "samekey";
import { sqliteStore } from "samekey/stores/sqlite";
import { createMockServer, lose } from "samekey/testing";
import { expect, onTestFinished, test } from "vitest";

const operations = { transfer: post<{ amount: number }, { id: string }>("/transfers") };
const HOUR = 3_600_000;

/** A program on one file, which may be copied and put back; its clock is ahead of the wall's by as much as is said. */
async function setting() {
  const directory = await mkdtemp(join(tmpdir(), "samekey-restored-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const path = join(directory, "store.sqlite");
  const server = createMockServer();
  let ahead = 0;
  const clock = {
    now: () => Date.now() + ahead,
    sleep: (ms: number, signal?: AbortSignal) =>
      new Promise<void>((resolve, reject) => {
        const timer = setTimeout(resolve, ms);
        signal?.addEventListener("abort", () => {
          clearTimeout(timer);
          reject(signal.reason);
        });
      }),
  };
  return {
    server,
    pass: (ms: number) => {
      ahead += ms;
    },
    /** As an operator does: while nothing has it open. */
    save: () => copyFile(path, `${path}.copy`),
    async restore() {
      for (const end of ["", "-wal", "-shm"]) await rm(path + end, { force: true });
      await copyFile(`${path}.copy`, path);
    },
    async run<T>(work: (sdk: Sdk<typeof operations>) => Promise<T>): Promise<T> {
      const sdk = createSdk({
        name: "shop",
        owner: "single",
        retention: "24h",
        baseUrl: server.baseUrl,
        store: sqliteStore({ path }),
        fetch: server.fetch,
        clock,
        operations,
      });
      try {
        return await work(sdk);
      } finally {
        await sdk.close();
      }
    },
  };
}

test("what is older than its key's life is never sent again from an old copy", async () => {
  const { server, pass, save, restore, run } = await setting();
  server.script(lose.response());
  await run(async (sdk) => {
    const sent = sdk.operation("transfer", { amount: 1 }, { intent: "sent" });
    await expect(sent.send({ wait: 50 })).rejects.toMatchObject({ code: "pending" });
    await sdk.operation("transfer", { amount: 2 }, { intent: "late", deadline: "1h" }).save();
  });
  await save();
  await run((sdk) => sdk.resume({ wait: "10s" }));
  expect(server.effects).toHaveLength(2);
  const before = server.calls.length;

  pass(48 * HOUR);
  await restore();
  await run(async (sdk) => {
    expect((await sdk.find({ name: "transfer", intent: "sent" }))?.state, "as the copy has it").toBe("pending");
    await sdk.resume({ wait: "10s" });
    const sent = await sdk.find({ name: "transfer", intent: "sent" });
    expect(sent).toMatchObject({ state: "unresolved", code: "key_expired" });
    expect((await sdk.find({ name: "transfer", intent: "late" }))?.state, "nothing was sent of it").toBe("expired");
    await expect(sdk.retry(sent?.id ?? "")).rejects.toMatchObject({ code: "key_expired" });
  });
  expect(server.calls.length - before).toBe(0);
});

test("what is younger is sent from an old copy under its old key, which the server knows", async () => {
  const { server, save, restore, run } = await setting();
  server.script(lose.response());
  await run(async (sdk) => {
    const sent = sdk.operation("transfer", { amount: 1 }, { intent: "sent" });
    await expect(sent.send({ wait: 50 })).rejects.toMatchObject({ code: "pending" });
  });
  await save();
  await run((sdk) => sdk.resume({ wait: "10s" }));
  await restore();
  await run((sdk) => sdk.resume({ wait: "10s" }));
  expect(new Set(server.calls.map(({ key }) => key)).size).toBe(1);
  expect(server.effects).toHaveLength(1);
});

test("it tells how much room its file takes, and how much there is", async () => {
  const { run } = await setting();
  await run(async (sdk) => {
    await sdk.operation("transfer", { amount: 1 }).save();
    const { durable, usage = 0, quota = 0, persisted } = await sdk.storage();
    expect([durable, persisted]).toEqual([true, undefined]);
    expect(usage).toBeGreaterThan(0);
    expect(quota).toBeGreaterThan(usage);
  });
});
