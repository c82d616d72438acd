import type { OperationRecord } from "samekey";
import { memoryStore } from "samekey/stores/memory";
import { expect, test, vi } from "vitest";
import { inTransaction, world } from "./fixture.js";

const at = world();
const soon = { timeout: 10_000, interval: 10 };
const undo = new Error("undo");

test("an operation recorded in a transaction is not there, and not sent, until that commits; then a worker sends it", async () => {
  const worker = at.sdk();
  worker.start();
  const web = at.sdk();
  const saved: OperationRecord[] = [];
  web.on("saved", (record) => saved.push(record));

  const record = await inTransaction(at.pool, async (tx) => {
    await tx.query("insert into debits values ('d-1')");
    const made = await web.operation("order", { order: "1" }, { intent: "d-1" }).save({ tx });
    // Another operation goes all the way meanwhile, so the worker has looked.
    await worker.operation("order", { order: "other" }).send();
    expect(await worker.get(made.id)).toBeUndefined();
    expect([...at.server.effects.keys()]).toEqual(["other"]);
    expect(saved).toEqual([]);
    return made;
  });

  await vi.waitFor(() => expect(at.server.effects.get("1")).toBe(1), soon);
  await vi.waitFor(() => expect(saved.map(({ id }) => id)).toEqual([record.id]), soon);
  expect(at.server.arrivals.filter(({ order }) => order === "1").map(({ key }) => key)).toEqual([record.key]);
});

test("a rollback leaves nothing behind, in the database or in this process, and the handle can be used again", async () => {
  const sdk = at.sdk();
  sdk.start();
  sdk.pending.subscribe(() => {});
  const handle = sdk.operation("order", { order: "1" }, { intent: "d-2" });
  handle.subscribe(() => {});
  const undone = inTransaction(at.pool, async (tx) => {
    await handle.save({ tx });
    throw undo;
  });
  await expect(undone).rejects.toBe(undo);

  expect(handle.getSnapshot()).toMatchObject({ state: "idle", attempts: 0 });
  expect(sdk.pending.getSnapshot()).toEqual([]);
  expect(await sdk.counts()).toEqual({});
  expect(await sdk.find({ name: "order", intent: "d-2" })).toBeUndefined();
  expect(at.server.arrivals).toEqual([]);

  const { source } = await handle.send();
  expect([source, at.server.effects.get("1")]).toEqual(["executed", 1]);
});

test("the store's own pool is no transaction: it is refused, and nothing recorded", async () => {
  const sdk = at.sdk();
  const saving = sdk.operation("order", { order: "1" }).save({ tx: at.pool });
  await expect(saving).rejects.toMatchObject({ code: "bad_option", message: expect.stringContaining("BEGIN") });
  expect(await sdk.counts()).toEqual({});
});

test("send after the commit finds the operation, whoever has sent it", async () => {
  const sdk = at.sdk();
  const handle = sdk.operation("order", { order: "1" }, { intent: "d-3" });
  const record = await inTransaction(at.pool, (tx) => handle.save({ tx }));
  const result = await handle.send();
  expect([result.id, result.key]).toEqual([record.id, record.key]);
  expect((await sdk.operation("order", { order: "1" }, { intent: "d-3" }).send()).id).toBe(record.id);
  expect(at.server.effects).toEqual(new Map([["1", 1]]));
});

test("within the transaction an intent is joined, and another body refused without harm to the transaction", async () => {
  const sdk = at.sdk();
  const order = (body: string) => sdk.operation("order", { order: body }, { intent: "d-4" });
  await inTransaction(at.pool, async (tx) => {
    const first = await order("1").save({ tx });
    expect((await order("1").save({ tx })).id).toBe(first.id);
    await expect(order("2").save({ tx })).rejects.toMatchObject({ code: "intent_mismatch" });
    await tx.query("insert into debits values ('d-4')");
  });
  expect(await sdk.counts()).toEqual({ pending: 1 });
  const again = inTransaction(at.pool, (tx) => order("2").save({ tx }));
  await expect(again).rejects.toMatchObject({ code: "intent_mismatch" });
});

test.each([
  ["commits", "joins"],
  ["rolls back", "is the one that is recorded"],
])("of two transactions with one intent the second waits; when the first %s, it %s", async (end) => {
  const sdk = at.sdk();
  const order = () => sdk.operation("order", { order: "1" }, { intent: "d-5" });
  let second: Promise<OperationRecord> | undefined;
  const first = inTransaction(at.pool, async (tx) => {
    const record = await order().save({ tx });
    second = inTransaction(at.pool, (other) => order().save({ tx: other }));
    await vi.waitFor(async () => {
      const { rows } = await at.pool.query("select from pg_locks where not granted");
      expect(rows).not.toEqual([]);
    }, soon);
    if (end !== "commits") throw undo;
    return record;
  });
  const [one] = await Promise.allSettled([first]);
  const { id } = (await second) as OperationRecord;
  expect(await sdk.counts()).toEqual({ pending: 1 });
  if (one?.status === "fulfilled") expect(id).toBe(one.value.id);
  else expect((await sdk.get(id))?.id).toBe(id);
});

test("an operation of a lane that is recorded in a transaction stands behind those before it", async () => {
  const sdk = at.sdk();
  const order = (body: string) => sdk.operation("order", { order: body }, { lane: "account-1" });
  const first = await order("1").save();
  const [second, third] = await inTransaction(at.pool, async (tx) => [
    await order("2").save({ tx }),
    await order("3").save({ tx }),
  ]);
  expect([first.parked, second?.parked, third?.parked]).toEqual([undefined, true, true]);
  await sdk.resume();
  expect(at.server.arrivals.map(({ order }) => order)).toEqual(["1", "2", "3"]);
});

test("what the transaction throws comes as it is, for whoever retries transactions", async () => {
  const sdk = at.sdk();
  await sdk.counts();
  const failing = inTransaction(at.pool, async (tx) => {
    await tx.query("select 1/0").catch(() => {});
    await sdk.operation("order", { order: "1" }).save({ tx });
  });
  await expect(failing).rejects.toMatchObject({ code: "25P02", severity: "ERROR" });
});

test("a store that is not in the database refuses a transaction, and so does what is none", async () => {
  const tx = { query: async () => ({ rows: [] }) };
  const elsewhere = at.sdk(memoryStore()).operation("order", { order: "1" });
  await expect(elsewhere.save({ tx })).rejects.toMatchObject({
    code: "bad_option",
    message: expect.stringContaining("`tx`"),
  });
  const none = at.sdk().operation("order", { order: "1" });
  await expect(none.save({ tx: {} as never })).rejects.toMatchObject({
    code: "bad_option",
    message: expect.stringContaining("query"),
  });
});

test("a closed sdk records nothing", async () => {
  const sdk = at.sdk();
  await sdk.close();
  const late = inTransaction(at.pool, (tx) => sdk.operation("order", { order: "1" }).save({ tx }));
  await expect(late).rejects.toMatchObject({ code: "unavailable" });
});
