import { type OperationRecord, post, type Seal } from "samekey";
import { memoryStore } from "samekey/stores/memory";
import { createMockServer, createTestSdk, createVirtualClock, lose } from "samekey/testing";
import { describe, expect, test } from "vitest";
import { instantSeal } from "../../support/instant-seal.js";
import { fate, type Receipt, type Transfer } from "./kit.js";

const keyOf = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);
const withOld = instantSeal({ old: keyOf(1) });
const withNew = instantSeal({ new: keyOf(2) });
const withBoth = instantSeal({ new: keyOf(2), old: keyOf(1) });
/** Whoever has none of his own is given one where this suite runs sealed. */
const unsealed: Seal = { over: (store) => store };
const order = { intent: "order-1" };

/** One store and one server; programs that come and go, each with a seal of its own. */
function createPlace() {
  const clock = createVirtualClock();
  const store = memoryStore();
  const server = createMockServer({ clock: clock.steady });
  const delivered: OperationRecord[] = [];
  const operations = {
    transfer: post<Transfer, Receipt>("/transfers", { settled: (record) => void delivered.push(record) }),
  };
  return {
    clock,
    store,
    server,
    delivered,
    program: (seal: Seal) =>
      createTestSdk({
        operations,
        seal,
        store,
        server,
        clock,
        keepFor: "2h",
        rememberIntents: "10h",
        retry: { base: "1s" },
      }),
  };
}

/** An operation whose answer was lost, recorded by a program that is gone. */
async function interrupted(place: ReturnType<typeof createPlace>, seal = withOld): Promise<OperationRecord> {
  const app = place.program(seal);
  place.server.script(lose.response());
  const waiting = app.sdk.operation("transfer", { amount: 2500 }, order).send({ wait: 1 });
  await app.until(fate(waiting));
  const record = await app.sdk.find({ name: "transfer", ...order });
  app.crash();
  return record as OperationRecord;
}

describe("a key that is gone", () => {
  test("nothing is sent with a wrong body: the operation is blocked, naming key and remedy, and its key stays", async () => {
    const place = createPlace();
    const { id, key } = await interrupted(place);
    const calls = place.server.calls.length;
    const app = place.program(withNew);
    const error = await app.until(fate(app.sdk.attach(id).send()));
    expect(error).toMatchObject({ code: "blocked", id, key });
    expect(String(error)).toContain('its body is sealed under key "old", which `seal` does not have here');
    expect(await place.store.get(id)).toMatchObject({ state: "blocked", blockedBy: "sealed", key });
    expect(place.server.calls).toHaveLength(calls);
  });

  test.each<[string, (app: ReturnType<ReturnType<typeof createPlace>["program"]>, id: string) => Promise<unknown>]>([
    ["start()", async ({ sdk }) => sdk.start()],
    ["resume()", ({ sdk }) => sdk.resume()],
    ["send()", ({ sdk }, id) => sdk.attach(id).send()],
    ["send() of the same intent", ({ sdk }) => sdk.operation("transfer", { amount: 2500 }, order).send()],
  ])("back again, the operation goes on by %s with the same bytes under the same key", async (_, goOn) => {
    const place = createPlace();
    const { id } = await interrupted(place);
    const without = place.program(withNew);
    await without.until(without.sdk.resume());
    without.crash();
    const app = place.program(withBoth);
    await app.until(Promise.resolve(goOn(app, id)));
    await app.advance("1m");
    expect(await app.sdk.get(id)).toMatchObject({ state: "succeeded" });
    expect(new Set(place.server.calls.map(({ key }) => key)).size).toBe(1);
    expect(place.server.effects).toMatchObject([{ body: { amount: 2500 } }]);
  });

  test("a program that has it and is at work takes up what one without has blocked, time and again", async () => {
    const place = createPlace();
    const app = place.program(withOld);
    app.sdk.start();
    for (const [count, intent] of ["order-1", "order-2"].entries()) {
      app.offline(true);
      const before = place.program(withOld);
      const { id } = await before.sdk.operation("transfer", { amount: 1 }, { intent }).save();
      before.crash();
      const without = place.program(unsealed);
      await without.until(without.sdk.resume());
      without.crash();
      expect(await place.store.get(id)).toMatchObject({ state: "blocked", blockedBy: "sealed" });
      app.offline(false);
      await app.advance("2m");
      expect(await place.store.get(id)).toMatchObject({ state: "succeeded" });
      expect(place.server.effects).toHaveLength(count + 1);
    }
  });

  test("who waits for it in a program that has it goes on waiting, and is told what came of it", async () => {
    const place = createPlace();
    const app = place.program(withOld);
    app.offline(true);
    const sending = app.sdk.operation("transfer", { amount: 2500 }, order).send();
    await app.advance("1s");
    const without = place.program(unsealed);
    await without.until(without.sdk.resume());
    expect((await place.store.page({}))[0]).toMatchObject({ state: "blocked", blockedBy: "sealed" });
    app.offline(false);
    expect(await app.until(sending)).toMatchObject({ data: { id: "1" } });
    expect(place.server.effects).toHaveLength(1);
  });

  test("a program that has it does not say that it lacks it", async () => {
    const place = createPlace();
    const { id } = await interrupted(place);
    const without = place.program(unsealed);
    await without.until(without.sdk.resume());
    const app = place.program(withOld);
    const handle = app.sdk.attach(id);
    await handle.save();
    handle.subscribe(() => {});
    handle.getSnapshot();
    await app.advance(0);
    const { state, outcome } = handle.getSnapshot();
    expect(state).toBe("blocked");
    const { message } = (outcome as { error: Error }).error;
    expect(message).toContain("a program without the key of its seal took it up; this one has it");
    expect(message).not.toContain('""');
  });

  test("it is not tried over and over: a program without the key leaves it blocked", async () => {
    const place = createPlace();
    const { id } = await interrupted(place);
    const app = place.program(withNew);
    await app.until(app.sdk.resume());
    const { attempts } = (await place.store.get(id)) as OperationRecord;
    await app.until(app.sdk.resume());
    app.sdk.start();
    await app.advance("1h");
    expect(await place.store.get(id)).toMatchObject({ state: "blocked", attempts });
  });

  test("with sealing switched off the error says so", async () => {
    const place = createPlace();
    const { id } = await interrupted(place);
    const app = place.program(unsealed);
    const error = await app.until(fate(app.sdk.attach(id).send()));
    expect(String(error)).toContain('sealed under key "old", and this program has no `seal`');
  });

  test("an answer that cannot be opened is told as unreadable, not as undone", async () => {
    const place = createPlace();
    const before = place.program(withOld);
    await before.until(before.sdk.operation("transfer", { amount: 1 }, order).send());
    const app = place.program(withNew);
    const { id } = (await app.sdk.find({ name: "transfer", ...order })) as OperationRecord;
    const outcome = await app.until(app.sdk.attach(id).outcome());
    expect(outcome).toMatchObject({ state: "unreadable", error: { code: "unreadable", status: 201 } });
    expect(String((outcome as { error: Error }).error)).toContain('its answer is sealed under key "old"');
    const back = place.program(withBoth);
    expect(await back.until(back.sdk.attach(id).send())).toMatchObject({ source: "store", data: { id: "1" } });
  });

  test("the same intent is neither joined nor sent anew: whether it is the same request cannot be told", async () => {
    const place = createPlace();
    const { id } = await interrupted(place);
    const calls = place.server.calls.length;
    const app = place.program(withNew);
    const error = await app.until(fate(app.sdk.operation("transfer", { amount: 2500 }, order).send()));
    expect(error).toMatchObject({ name: "StoreError", code: "sealed", id });
    expect(place.server.calls).toHaveLength(calls);
  });

  test("a hook waits for it, and is then called with everything", async () => {
    const place = createPlace();
    await interrupted(place);
    const { id } = (await place.store.page({}))[0] as OperationRecord;
    // Settled elsewhere, by a program that ended before its hook was called.
    await place.store.update(id, (record) => ({
      ...record,
      state: "canceled",
      settledAt: place.clock.now(),
      lease: undefined,
      mark: undefined,
      blockedBy: undefined,
      delivered: false,
      nextAttemptAt: 0,
    }));
    const without = place.program(withNew);
    without.sdk.start();
    await without.advance("1h");
    expect(place.delivered).toEqual([]);
    without.crash();
    const app = place.program(withBoth);
    app.sdk.start();
    await app.advance("1h");
    expect(place.delivered).toHaveLength(1);
    expect(new TextDecoder().decode(place.delivered[0]?.request.body)).toBe('{"amount":2500}');
  });

  test("for good, a program whose operation has no hook ends what is owed, and it is pruned as ever", async () => {
    const place = createPlace();
    const { id } = await interrupted(place);
    const without = place.program(withNew);
    without.sdk.start();
    await without.advance("1m");
    await without.sdk.reconcile(id, "applied");
    await without.advance("1h");
    expect(place.delivered).toEqual([]);
    expect(await place.store.get(id)).toMatchObject({ state: "succeeded", delivered: false });
    without.crash();
    const bare = { operations: { transfer: post<Transfer, Receipt>("/transfers") }, seal: withNew };
    const app = createTestSdk({ ...bare, store: place.store, server: place.server, clock: place.clock });
    await app.until(app.sdk.resume({ wait: "20m" }));
    expect(await place.store.get(id)).toMatchObject({ state: "succeeded", delivered: true });
    expect(place.server.effects).toHaveLength(1);
  });

  test("a new operation in its place is refused before the old one is let go of", async () => {
    const place = createPlace();
    const { id } = await interrupted(place);
    const app = place.program(withNew);
    await app.sdk.discard(id, { reason: "lost" });
    const reissued = await fate(app.sdk.reissue(id, { afterReconciling: "looked" }));
    expect(reissued).toMatchObject({ code: "sealed" });
    const back = place.program(withBoth);
    const successor = await back.sdk.reissue(id, { afterReconciling: "looked" });
    expect(new TextDecoder().decode(successor.request.body)).toBe('{"amount":2500}');
    expect((await place.store.get(successor.id))?.request.sealed?.key).toBe("new");
  });
});

describe("what outlives a body", () => {
  test("its hash is sealed too, and still tells the same request from another one", async () => {
    const place = createPlace();
    const app = place.program(withOld);
    await app.until(app.sdk.operation("transfer", { amount: 1 }, order).send());
    app.sdk.start();
    await app.advance("5h");
    const [standing] = await place.store.page({});
    expect(standing?.request).toMatchObject({ body: undefined, sealed: undefined });
    expect(standing?.hash).toMatch(/^sealed:old:/);
    const again = place.program(withBoth);
    const same = await again.until(fate(again.sdk.operation("transfer", { amount: 1 }, order).send()));
    expect(same).toMatchObject({ code: "unreadable" });
    const other = await again.until(fate(again.sdk.operation("transfer", { amount: 2 }, order).send()));
    expect(other).toMatchObject({ code: "intent_mismatch" });
    const without = place.program(withNew);
    const unknown = await without.until(fate(without.sdk.operation("transfer", { amount: 1 }, order).send()));
    expect(unknown).toMatchObject({ code: "sealed" });
  });

  test("a body that cannot be opened is kept until the memory of its intent ends", async () => {
    const place = createPlace();
    const before = place.program(withOld);
    await before.until(before.sdk.operation("transfer", { amount: 1 }, order).send());
    before.crash();
    const app = place.program(withNew);
    app.sdk.start();
    await app.advance("5h");
    expect((await place.store.page({}))[0]?.request.sealed?.key).toBe("old");
    await app.advance("12h");
    expect(await place.store.page({})).toEqual([]);
  });
});

test("pruning goes on behind whole pages of what cannot be opened", async () => {
  const place = createPlace();
  for (const [seal, name] of [
    [withOld, "old"],
    [withNew, "new"],
  ] as const) {
    const app = place.program(seal);
    const send = (amount: number) => app.sdk.operation("transfer", { amount }, { intent: `${name} ${amount}` }).send();
    await app.until(Promise.all(Array.from({ length: 40 }, (_, amount) => send(amount))));
    await app.advance("1m");
    app.crash();
  }
  await place.clock.advance("5h");
  const app = place.program(withNew);
  expect(await app.until(app.sdk.prune())).toBe(40);
  const records = await place.store.page({ limit: 100 });
  expect(records.filter(({ hash }) => hash?.startsWith("sealed:new:"))).toHaveLength(40);
  expect(records.filter(({ request }) => request.sealed?.key === "old")).toHaveLength(40);
});

test("records of before the seal are read, sent and settled, their answers sealed", async () => {
  const place = createPlace();
  const { id } = await interrupted(place, unsealed);
  expect((await place.store.get(id))?.request.sealed).toBeUndefined();
  const app = place.program(withNew);
  expect(await app.until(app.sdk.attach(id).send())).toMatchObject({ data: { id: "1" }, source: "replayed" });
  expect((await place.store.get(id))?.response?.sealed?.key).toBe("new");
});

test("`reseal` re-seals everyone's records, and wants a seal", async () => {
  const place = createPlace();
  const { id } = await interrupted(place);
  const app = place.program(withBoth);
  expect(await app.sdk.reseal()).toEqual({ resealed: 1, left: 0 });
  expect((await place.store.get(id))?.request.sealed?.key).toBe("new");
  const off = place.program(unsealed);
  expect(await fate(off.sdk.reseal())).toMatchObject({ code: "bad_option" });
});

test("five clicks in one task are one operation, joined before anything is sealed", async () => {
  const place = createPlace();
  const { sdk } = place.program(withOld);
  const sends = Array.from({ length: 5 }, () => sdk.operation("transfer", { amount: 1 }, order).send());
  const results = await place.clock.until(Promise.all(sends));
  expect(new Set(results.map(({ key }) => key)).size).toBe(1);
  expect(place.server.effects).toHaveLength(1);
});

test("a snapshot shows the input of an operation found after a reload, and nothing of one that stays closed", async () => {
  const place = createPlace();
  const { id } = await interrupted(place);
  for (const [seal, input] of [
    [withBoth, { amount: 2500 }],
    [withNew, undefined],
  ] as const) {
    const { sdk } = place.program(seal);
    const handle = sdk.attach(id);
    await handle.save();
    expect(handle.getSnapshot().input).toEqual(input);
  }
});
