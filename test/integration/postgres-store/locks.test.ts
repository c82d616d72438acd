import { expect, test, vi } from "vitest";
import { world } from "./fixture.js";

const at = world();

test("while an answer is awaited the store holds no lock and no transaction", async () => {
  const sdk = at.sdk();
  let goOn = (): void => {};
  const held = new Promise<void>((resolve) => {
    at.server.at("committed", () => {
      resolve();
      return new Promise<void>((answered) => (goOn = answered));
    });
  });
  const outcome = sdk.operation("order", { order: "1" }).outcome();
  await held;

  // Looked at again, as the server's own helpers lock something for a moment.
  await vi.waitFor(async () => {
    const { rows: locks } = await at.pool.query(
      "select locktype, relation::regclass::text, mode from pg_locks where pid <> pg_backend_pid()",
    );
    expect(locks).toEqual([]);
    const { rows: sessions } = await at.pool.query(
      "select state, query from pg_stat_activity where xact_start is not null and pid <> pg_backend_pid()",
    );
    expect(sessions).toEqual([]);
  });
  goOn();
  expect(await outcome).toMatchObject({ state: "succeeded" });
});
