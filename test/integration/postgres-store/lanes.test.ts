import type pg from "pg";
import { postgresStore } from "samekey/stores/postgres";
import { expect, test, vi } from "vitest";
import { inTransaction, world } from "./fixture.js";

const its = world();

/** The same pool; tells of each statement that waited too long for somebody's lock. */
function watched(pool: pg.Pool, onRefused: () => void) {
  return {
    async connect() {
      const client = await pool.connect();
      return {
        release: (destroy?: boolean) => client.release(destroy),
        query: (text: string, values?: unknown[]) =>
          client.query(text, values).catch((error: { code?: string }) => {
            if (error.code === "55P03") onRefused();
            throw error;
          }),
      };
    },
  };
}

test("a lane keeps the order in which its operations were saved, however long others hold it locked", async () => {
  let refusals = 0;
  const sdk = its.sdk(postgresStore({ pool: watched(its.pool, () => refusals++) }));
  const operation = (order: string) => sdk.operation("order", { order }, { lane: "account-8842" });
  const others: Promise<unknown>[] = [];
  /** As long a way between two of the lane as takes longer than the first one's pause. */
  const inBetween = (): void => {
    for (let i = 0; i < 60; i++) others.push(sdk.operation("order", { order: `other ${i}` }).save());
  };
  await sdk.counts();
  const saving = await inTransaction(its.pool, async (tx) => {
    await operation("first").save({ tx });
    const saved = ["a", "b", "c", "d", "e", "f"].map((order) => {
      const save = operation(order).save();
      inBetween();
      return save;
    });
    // All of them together, and then some of them alone.
    await vi.waitFor(() => expect(refusals).toBeGreaterThanOrEqual(4), { timeout: 30_000 });
    return saved;
  });
  await Promise.all(others);
  const places = (await Promise.all(saving)).map(({ seq }) => seq);
  expect(places).toEqual([...places].sort((one, other) => one - other));
});
