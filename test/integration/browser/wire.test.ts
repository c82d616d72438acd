import { createServer } from "node:http";
import { expect, test } from "vitest";
import { cut, redirect, status, unauthorized } from "../../../src/testing/index.js";
import { arrived, eventually, kept, keysOf, open, openStill, send, sendAside, setUp } from "./tools.js";

const setting = setUp();

/** What `outcome()` tells of an operation, as far as a test can carry it out of the page. */
function outcome(page: Awaited<ReturnType<typeof setting.shop>>, intent: string) {
  return page.evaluate(async (name) => {
    const told = await app.sdk.operation("transfer", { amount: 5 }, { intent: name }).outcome({ wait: "5s" });
    if (!("error" in told)) return { state: told.state };
    const record = await app.sdk.find({ name: "transfer", intent: name });
    const { code } = told.error;
    return { state: told.state, code, by: record?.blockedBy, uncertain: record?.uncertainSince !== undefined };
  }, intent);
}

test.each([301, 302, 303, 307, 308] as const)(
  "a redirect (%i) is opaque to the page: not followed, not settled, blocked (F27)",
  async (status) => {
    const { site, shop } = setting;
    site.api.script(redirect("/elsewhere", { status }));
    const page = await shop();
    expect(await outcome(page, "order-1")).toMatchObject({ state: "blocked", by: "redirected", uncertain: true });
    expect(site.arrivals.map(({ method }) => method)).toEqual(["POST"]);
    expect(site.api.effects).toEqual([]);
    const { key } = site.arrivals[0] ?? {};
    const again = await page.evaluate(async () => {
      const record = await app.sdk.find({ name: "transfer", intent: "order-1" });
      await app.sdk.retry(record?.id ?? "");
      return (await app.sdk.operation("transfer", { amount: 5 }, { intent: "order-1" }).send()).key;
    });
    expect(again).toBe(key);
  },
);

test("no-cors, which would strip the key, is refused before anything is recorded or sent (F31)", async () => {
  const { site, shop } = setting;
  const page = await shop();
  const refusals = await page.evaluate(async () => {
    const init = { method: "POST", body: "x", mode: "no-cors" } as const;
    const attempts = [
      () => app.sdk.fetch("/transfers", init),
      () => app.sdk.fetch(new Request("/transfers", init)),
      () => app.sdk.fetch(new Request("/transfers", { method: "POST", body: "x" }), { mode: "no-cors" }),
    ];
    const codes: unknown[] = [];
    for (const attempt of attempts) {
      codes.push(
        await attempt().then(
          ({ status }) => status,
          ({ code, message }) => [code, /no-cors/.test(message)],
        ),
      );
    }
    return { codes, counts: await app.sdk.counts() };
  });
  expect(refusals).toEqual({ codes: Array.from({ length: 3 }, () => ["bad_option", true]), counts: {} });
  expect(site.arrivals).toEqual([]);
});

test("an answer cut off in its body settles nothing; the whole replay does (F23)", async () => {
  const { site, shop } = setting;
  site.api.on("POST", "/transfers", () => ({ id: "1", note: "x".repeat(100_000) }));
  site.api.script(cut.body(), cut.body());
  const page = await shop();
  const events = page.evaluate(() => {
    const seen: string[] = [];
    for (const event of ["attempt", "retry", "settled"] as const) app.sdk.on(event, () => seen.push(event));
    app.kept["seen"] = seen;
  });
  await events;
  expect(await send(page, "order-1")).toMatchObject({ source: "replayed", data: { id: "1" } });
  const seen = ["attempt", "retry", "attempt", "retry", "attempt", "settled"];
  // A success is told while it is being written; the event follows the write.
  await eventually(() => kept(page, "seen")).toEqual(seen);
  expect(keysOf(site).size).toBe(1);
  expect(site.api.effects).toHaveLength(1);
});

test("Chromium itself re-sends a POST on a warm connection that was reset: one key, one effect (F34)", async () => {
  const { site, shop } = setting;
  const page = await shop();
  await send(page, "warm");
  let resets = 0;
  site.intercept = (request) => {
    if (resets++ > 0) return undefined;
    request.socket.destroy();
    return true;
  };
  await page.evaluate(() =>
    app.sdk.on("attempt", () => (app.kept["attempts"] = Number(app.kept["attempts"] ?? 0) + 1)),
  );
  const { key } = await send(page, "order-1");
  const copies = site.arrivals.slice(1);
  expect(copies.length, "the browser sent it more often than it was asked to").toBeGreaterThan(
    Number(await kept(page, "attempts")),
  );
  expect(new Set(copies.map((copy) => copy.key))).toEqual(new Set([key]));
  expect(site.api.effects.filter((effect) => effect.key === key)).toHaveLength(1);
});

test("a browser that is offline is believed: nothing is sent until it is online again", async () => {
  const { site, tab, context } = setting;
  const page = await tab();
  await openStill(page);
  await context.setOffline(true);
  await page.evaluate(() => {
    const handle = app.sdk.operation("transfer", { amount: 5 }, { intent: "order-1" });
    const seen: unknown[] = [];
    app.kept["seen"] = seen;
    handle.subscribe(() => {
      const { state, offline, attempts } = handle.getSnapshot();
      const now = `${state} ${offline ? "offline" : "online"} ${attempts}`;
      if (seen.at(-1) !== now) seen.push(now);
    });
    handle.send().then(({ source }) => (app.kept["order-1"] = source));
  });
  await eventually(() => kept(page, "seen")).toEqual(["pending offline 0"]);
  expect(site.arrivals).toEqual([]);
  await context.setOffline(false);
  await eventually(() => kept(page, "order-1")).toBe("executed");
  expect(site.arrivals).toHaveLength(1);
  expect(await kept(page, "seen")).toEqual(expect.arrayContaining(["pending offline 0", "succeeded online 1"]));
});

test("a page that is shown again looks at once for what is due", async () => {
  const { site, shop } = setting;
  site.api.script(status(503, { applied: true }));
  const page = await shop();
  await page.evaluate(() => {
    let now = 0;
    app.open({
      retry: { base: "1h", cap: "1h" },
      // An hour can pass while a page is hidden, and its timers do not notice.
      clock: {
        now: () => Date.now() + now,
        sleep: (ms, signal) =>
          new Promise((resolve, reject) => {
            if (ms < 1_000) setTimeout(resolve, ms);
            signal?.addEventListener("abort", () => reject(signal.reason));
          }),
      },
    });
    app.kept["pass"] = () => {
      now += 3_600_000;
      document.dispatchEvent(new Event("visibilitychange"));
    };
  });
  await sendAside(page, "order-1");
  await eventually(() => page.evaluate(() => app.sdk.pending && app.sdk.counts())).toEqual({ pending: 1 });
  await arrived(site, 1);
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(site.arrivals).toHaveLength(1);
  await page.evaluate(() => (app.kept["pass"] as () => void)());
  await eventually(() => kept(page, "order-1")).toMatchObject({ source: "replayed" });
  expect(site.api.effects).toHaveLength(1);
});

test("a sign-in that is wanted blocks; the next send has new credentials, the same key and bytes (F11 F55)", async () => {
  const { site, shop } = setting;
  site.api.script(unauthorized());
  const page = await shop();
  expect(await outcome(page, "order-1")).toMatchObject({ state: "blocked", by: "credentials", uncertain: false });
  expect(await send(page, "order-1")).toMatchObject({ source: "executed" });
  expect(keysOf(site).size).toBe(1);
});

test("an API that does not allow the key's header to this origin: told as such, kept, never settled (F29)", async () => {
  const { site, tab } = setting;
  const methods: string[] = [];
  const foreign = createServer((request, response) => {
    methods.push(request.method ?? "");
    response.writeHead(204, {
      "access-control-allow-origin": "*",
      "access-control-allow-methods": "POST",
      "access-control-allow-headers": "content-type, authorization",
    });
    response.end();
  });
  await new Promise<void>((resolve) => foreign.listen(0, "127.0.0.1", resolve));
  const { port } = foreign.address() as { port: number };
  try {
    const page = await tab(`${site.url}/open`);
    await open(page);
    const told = await page.evaluate(async (baseUrl) => {
      const log: string[] = [];
      const sdk = app.open({ baseUrl, log: ({ level, message }) => level === "warn" && log.push(message) });
      const told = await sdk.operation("transfer", { amount: 5 }, { intent: "order-1" }).outcome({ wait: "20s" });
      if (!("error" in told)) return { state: told.state };
      const { code, message, record } = told.error;
      return { log, state: told.state, code, message, attempts: record?.attempts ?? 0, counts: await sdk.counts() };
    }, `http://127.0.0.1:${port}`);
    expect(told).toMatchObject({ state: "pending", code: "pending", counts: { pending: 1 } });
    expect(told.message).toMatch(/CORS/);
    expect(told.message).toContain("idempotency-key");
    expect(told.log).toHaveLength(2);
    expect(told.log).toEqual(
      expect.arrayContaining([expect.stringMatching(/attempts failed/), expect.stringMatching(/CORS/)]),
    );
    expect(told.attempts).toBeGreaterThan(2);
    expect(told.attempts, "an origin that never answers is not asked on and on").toBeLessThan(12);
    expect(new Set(methods), "no write has got there").toEqual(new Set(["OPTIONS", "HEAD"]));
    expect(site.arrivals).toEqual([]);
  } finally {
    foreign.closeAllConnections();
    foreign.close();
  }
});
