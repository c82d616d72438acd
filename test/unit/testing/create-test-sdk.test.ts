import { post } from "samekey";
import { conflict, createMockServer, createTestSdk, createVirtualClock, delay, lose } from "samekey/testing";
import { expect, test } from "vitest";

const operations = { transfer: post<{ amount: number }, { id: string }>("/transfers") };

test("an operation in virtual time: the waits cost nothing", async () => {
  const app = createTestSdk({ operations, start: 1.8e12 });
  app.server.script(lose.response(), conflict({ times: 3, retryAfter: 3600 }));
  const began = performance.now();
  const result = await app.until(app.sdk.operation("transfer", { amount: 1 }).send());
  expect(result).toMatchObject({ data: { id: "1" }, source: "replayed", attempts: 5 });
  expect(app.clock.now()).toBeGreaterThan(1.8e12 + 3 * 3_600_000);
  expect(performance.now() - began).toBeLessThan(5000);
  expect(app.server.effects).toMatchObject([{ key: result.key, body: { amount: 1 } }]);
});

test("the same seed gives the same keys and waits", async () => {
  const run = async (seed: number) => {
    const app = createTestSdk({ operations, seed });
    app.server.script(lose.request({ times: 3 }));
    await app.until(app.sdk.operation("transfer", { amount: 1 }).send());
    return app.server.calls.map(({ key, at }) => [key, at]);
  };
  expect(await run(1)).toEqual(await run(1));
  expect(await run(1)).not.toEqual(await run(2));
});

test("a crash: the old instance does nothing more, a fresh one finishes under the same key", async () => {
  const app = createTestSdk({ operations });
  app.server.script(delay("20s"));
  const old = app.sdk;
  let heard = 0;
  old
    .operation("transfer", { amount: 1 }, { intent: "order-1" })
    .send()
    .then(
      () => heard++,
      () => heard++,
    );
  await app.advance("5s");
  expect(app.crash()).toBe(app.sdk);
  expect(app.sdk).not.toBe(old);
  void old.operation("transfer", { amount: 2 }).send();
  await app.advance("2m");
  expect(app.server.calls).toHaveLength(1);
  expect(await app.store.counts()).toEqual({ pending: 1 });

  expect(await app.until(app.sdk.resume())).toMatchObject({ succeeded: 1, remaining: 0 });
  expect(heard).toBe(0);
  expect(new Set(app.server.requests.map(({ key }) => key)).size).toBe(1);
  expect([app.server.requests.length, app.server.effects.length]).toEqual([2, 1]);
});

test("a crash while credentials are fetched: the request is never made", async () => {
  let answer = (_: Record<string, string>): void => {};
  const headers = () => new Promise<Record<string, string>>((resolve) => (answer = resolve));
  const app = createTestSdk({ operations, headers });
  void app.sdk.operation("transfer", { amount: 1 }).send();
  await app.advance(100);
  const token = answer;
  app.crash();
  token({ authorization: "Bearer t" });
  await app.advance("1m");
  expect(app.server.calls).toHaveLength(0);
});

test("after a crash the dead one's lease is not waited for", async () => {
  const app = createTestSdk({ operations });
  app.server.script(delay("1h"));
  void app.sdk.operation("transfer", { amount: 1 }, { intent: "order-1" }).send();
  await app.advance(100);
  const at = app.clock.now();
  app.crash();
  await app.until(app.sdk.resume());
  expect(app.server.effects).toHaveLength(1);
  expect(app.clock.now() - at).toBeLessThan(1000);
});

test("a reload closes the old instance and keeps what it recorded", async () => {
  const app = createTestSdk({ operations });
  const { key } = await app.until(app.sdk.operation("transfer", { amount: 1 }, { intent: "order-1" }).send());
  const old = app.sdk;
  const fresh = await app.reload();
  expect(fresh).not.toBe(old);
  const again = await app.until(fresh.operation("transfer", { amount: 1 }, { intent: "order-1" }).send());
  expect(again).toMatchObject({ key, source: "store" });
  await expect(app.until(old.operation("transfer", { amount: 2 }).send())).rejects.toMatchObject({
    code: "unavailable",
  });
  expect(app.server.requests).toHaveLength(1);
});

test("offline nothing is sent; online it goes on by itself", async () => {
  const app = createTestSdk({ operations });
  app.offline(true);
  const sending = app.sdk.operation("transfer", { amount: 1 }).send();
  await app.advance("1h");
  expect(app.server.calls).toHaveLength(0);
  app.offline(false);
  await app.advance(0);
  expect(app.server.calls).toHaveLength(1);
  expect((await app.until(sending)).source).toBe("executed");
});

test("the device's clock may be wrong, the server's is right", async () => {
  const app = createTestSdk({ operations });
  app.clock.jump(2 * 86_400_000);
  await app.until(app.sdk.operation("transfer", { amount: 1 }).send());
  expect(app.server.requests[0]?.at).toBe(app.clock.now() - 2 * 86_400_000);
});

test("takes a server and a clock of one's own", async () => {
  const clock = createVirtualClock();
  const server = createMockServer({ baseUrl: "https://bank.example.com/v2", clock });
  const app = createTestSdk({ operations, server, clock });
  await app.until(app.sdk.operation("transfer", { amount: 1 }).send());
  expect(server.effects.map(({ url }) => url)).toEqual(["https://bank.example.com/v2/transfers"]);
});

test("what it says of the server reaches it", async () => {
  const app = createTestSdk({ operations, baseUrl: "https://bank.example.com", server: { processing: "2s" } });
  const at = app.clock.now();
  await app.until(app.sdk.operation("transfer", { amount: 1 }).send());
  expect(app.clock.now() - at).toBe(2000);
  expect(app.server.effects[0]?.url).toBe("https://bank.example.com/transfers");
});
