/** What the log tells of an attempt that nobody would notice otherwise. */

import { post } from "samekey";
import { createTestSdk, oversize, status } from "samekey/testing";
import { describe, expect, test } from "vitest";
import { fate, type Transfer } from "./kit.js";

const YEARS = 100_000_000;

function createApp(options: Parameters<typeof createTestSdk>[0] = {}) {
  const warnings: string[] = [];
  const app = createTestSdk({
    operations: { transfer: post<Transfer>("/transfers", { maxResponse: 65_536 }) },
    log: ({ level, message }) => void (level === "warn" && warnings.push(message)),
    ...options,
  });
  const send = (wait: "1s" | "3h" = "1s") =>
    app.until(fate(app.sdk.operation("transfer" as never, { amount: 1 } as never).send({ wait })));
  return { app, warnings, send };
}

const busy = (seconds: number, code = 429) => status(code, { headers: { "retry-after": String(seconds) } });

describe("an API that asks to wait for very long", () => {
  test.each([429, 403])("%i: the log tells until when, once for all that wait there", async (code) => {
    const { app, warnings, send } = createApp();
    app.server.script(busy(YEARS, code), busy(YEARS, code));
    expect(await send()).toMatchObject({ code: "pending" });
    await send();
    const until = new Date(app.clock.now() + YEARS * 1000).toISOString().slice(0, 13);
    expect(warnings).toEqual([expect.stringContaining(`https://api.example.com asks to wait until ${until}`)]);
    expect(app.server.calls).toHaveLength(2);
  });

  test("again once it has answered otherwise", async () => {
    const { app, warnings, send } = createApp();
    app.server.script(busy(YEARS));
    await send();
    await send();
    app.server.script(busy(YEARS));
    await send();
    expect(warnings).toHaveLength(2);
  });

  test("`retry` does not wait", async () => {
    const { app, send } = createApp();
    app.server.script(busy(YEARS));
    await send();
    const [record] = await app.store.page({});
    await app.until(app.sdk.retry(record?.id ?? ""));
    expect(await app.until(app.sdk.attach(record?.id ?? "").send())).toMatchObject({ status: 201 });
  });

  test("where something is uncertain, it ends now: the last attempt that the key permits would come too late", async () => {
    const { app, warnings, send } = createApp();
    app.server.script(busy(YEARS, 503));
    expect(await send()).toMatchObject({ code: "key_expired" });
    expect(warnings).toEqual([]);
  });

  test.each([
    ["an hour is nothing to tell of", 3600, {}],
    ["nor is what options of the program's own allow", 7200, { retry: { backgroundCap: "2h" } }],
  ] as const)("%s", async (_, seconds, options) => {
    const { app, warnings, send } = createApp(options);
    app.server.script(busy(seconds));
    expect(await send("3h")).toMatchObject({ status: 201 });
    expect(warnings).toEqual([]);
  });
});

test("an answer that is not kept is told with its limit", async () => {
  const { app, warnings, send } = createApp();
  app.server.script(oversize(65_537));
  await send();
  expect(warnings).toEqual(["the answer has more bytes than `maxResponse` allows (65536), and is not kept"]);
});
