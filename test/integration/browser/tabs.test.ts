import { expect, test } from "vitest";
import { delay } from "../../../src/testing/index.js";
import { arrived, eventually, kept, keysOf, open, openStill, send, sendAside, setUp, watchInFlight } from "./tools.js";

const setting = setUp();

test("two tabs that click the same intent at once send it once, and both hear the outcome (F9)", async () => {
  const { site, tab } = setting;
  site.api.script(delay(300));
  const tabs = [await tab(), await tab()];
  // Told by the other tab: by this clock neither ever looks.
  for (const page of tabs) await openStill(page);
  const results = await Promise.all(tabs.map((page) => send(page, "order-1")));
  expect(results[0]).toMatchObject({ source: "executed", data: { id: "1" } });
  expect(results[1]).toEqual(results[0]);
  expect(site.arrivals).toHaveLength(1);
  expect(site.api.effects).toHaveLength(1);
});

test("four tabs and 50 operations: never two attempts of one at once, each tab hears each outcome (F46)", async () => {
  const { site, shop } = setting;
  const most = watchInFlight(site);
  site.api.script(...Array.from({ length: 200 }, (_, i) => delay(5 + (i % 7) * 10)));
  const tabs = [await shop(), await shop(), await shop(), await shop()];
  const answers = await Promise.all(
    tabs.map((tab) =>
      tab.evaluate(async () => {
        app.sdk.start();
        const intents = Array.from({ length: 50 }, (_, i) => `order-${i}`);
        const sendings = intents.map((intent, amount) => app.sdk.operation("transfer", { amount }, { intent }).send());
        return (await Promise.all(sendings)).map(({ key, data }) => `${key} ${data.id}`);
      }),
    ),
  );
  expect(new Set(answers[0]).size).toBe(50);
  for (const others of answers) expect(others).toEqual(answers[0]);
  expect(most()).toBe(1);
  expect(site.arrivals).toHaveLength(50);
  expect(keysOf(site).size).toBe(50);
  expect(site.api.effects).toHaveLength(50);
}, 30_000);

test("while an answer is awaited nothing is locked but what tells that the tab lives: others write at once", async () => {
  const { site, shop } = setting;
  site.api.script(delay("1h"));
  const [acting, other] = [await shop(), await shop()];
  await sendAside(acting, "order-1");
  await arrived(site, 1);
  const { held = [], pending } = await acting.evaluate(() => navigator.locks.query());
  expect(held.map(({ name }) => name)).toEqual([expect.stringMatching(/^samekey-holder:/)]);
  expect(pending).toEqual([]);
  await sendAside(other, "order-2");
  await eventually(() => kept(other, "order-2")).toMatchObject({ data: { id: "2" } });
  expect(await kept(acting, "order-1")).toBeUndefined();
});

test("what one tab records is sent at once by another that works in the background", async () => {
  const { site, shop } = setting;
  const [one, two] = [await shop(), await shop()];
  await two.evaluate(async () => {
    app.sdk.start();
    await app.sdk.counts();
  });
  await one.evaluate(() => app.sdk.operation("transfer", { amount: 5 }).save());
  await eventually(() => one.evaluate(() => app.sdk.counts())).toEqual({ succeeded: 1 });
  expect(site.api.effects).toHaveLength(1);
});

test("signing out in one tab ends the attempts and the waiting of all, and nobody else sees or sends them (F54)", async () => {
  const { site, shop } = setting;
  site.api.script(delay("1h"));
  const [one, two] = [await shop("ann"), await shop("ann")];
  await two.evaluate(() => app.sdk.start());
  let gone = false;
  site.intercept = (_, response) => {
    response.on("close", () => {
      gone = true;
    });
    return undefined;
  };
  await sendAside(one, "of-ann");
  await arrived(site, 1);
  await two.evaluate(async () => {
    const leaving = app.sdk.signOut();
    localStorage.removeItem("user");
    await leaving;
  });
  await eventually(() => kept(one, "of-ann")).toMatchObject({ code: "blocked" });
  await eventually(() => gone).toBe(true);

  const seen = await two.evaluate(async () => {
    localStorage.setItem("user", "bob");
    app.sdk.start();
    const shown: unknown[] = [];
    for await (const record of app.sdk.list()) shown.push(record);
    const found = await app.sdk.find({ name: "transfer", intent: "of-ann" });
    const own = await app.sdk.operation("transfer", { amount: 1 }, { intent: "of-bob" }).send();
    const report = await app.sdk.resume({ wait: 500 });
    return { shown, found, source: own.source, counts: await app.sdk.counts(), report };
  });
  expect(seen).toMatchObject({ shown: [], source: "executed", counts: { succeeded: 1 }, report: { remaining: 0 } });
  expect(seen.found).toBeUndefined();
  expect(site.arrivals.map(({ headers }) => headers.authorization)).toEqual([
    "Bearer token-of-ann",
    "Bearer token-of-bob",
  ]);

  await one.evaluate(() => localStorage.setItem("user", "ann"));
  expect(await send(one, "of-ann")).toMatchObject({ source: "replayed", key: site.arrivals[0]?.key });
  expect(site.api.effects).toHaveLength(2);
});

test("what a sign-out purges stays away, although an attempt was in flight in another tab (F54)", async () => {
  const { site, shop } = setting;
  site.api.script(delay(700));
  const [one, two] = [await shop("ann"), await shop("ann")];
  await sendAside(one, "of-ann");
  await arrived(site, 1);
  await two.evaluate(async () => {
    const leaving = app.sdk.signOut({ purge: true });
    localStorage.removeItem("user");
    await leaving;
  });
  await eventually(() => kept(one, "of-ann")).toMatchObject({ code: expect.stringMatching(/blocked|discarded/) });
  // Until well after the answer.
  await new Promise((resolve) => setTimeout(resolve, 900));
  expect(JSON.stringify(await two.evaluate(() => app.dump()))).not.toContain("of-ann");
  await open(two, "bob");
  expect(await two.evaluate(() => app.sdk.counts({ owner: "*" }))).toEqual({});
});

test("a list of what is pending is the same in all tabs, and the same array until it changes", async () => {
  const { site, shop, context } = setting;
  const [one, two] = [await shop(), await shop()];
  const watch = () => {
    const counts: number[] = [];
    app.kept["counts"] = counts;
    app.sdk.pending.subscribe(() => {
      const shown = app.sdk.pending.getSnapshot();
      if (shown !== app.sdk.pending.getSnapshot()) throw new Error("another array although nothing changed");
      if (counts.at(-1) !== shown.length) counts.push(shown.length);
    });
  };
  await Promise.all([one.evaluate(watch), two.evaluate(watch)]);
  await context.setOffline(true);
  await sendAside(one, "order-1");
  await eventually(() => kept(two, "counts")).toEqual([1]);
  await context.setOffline(false);
  await eventually(() => kept(two, "counts")).toEqual([1, 0]);
  expect(site.api.effects).toHaveLength(1);
});

test("a handle that was attached in one tab follows what another tab does", async () => {
  const { shop } = setting;
  const [one, two] = [await shop(), await shop()];
  const id = await one.evaluate(async () => {
    const handle = app.sdk.operation("transfer", { amount: 5 }, { intent: "order-1" });
    return (await handle.save()).id;
  });
  await two.evaluate((known) => {
    const states: string[] = [];
    app.kept["states"] = states;
    const handle = app.sdk.attach(known);
    const look = () => {
      const snapshot = handle.getSnapshot();
      if (snapshot !== handle.getSnapshot()) throw new Error("another object although nothing changed");
      if (snapshot.outcome) states.push(`${snapshot.state}: ${snapshot.outcome.state}`);
      else if (states.at(-1) !== snapshot.state) states.push(snapshot.state);
    };
    look();
    handle.subscribe(look);
  }, id);
  await eventually(() => kept(two, "states")).toEqual(["idle", "pending"]);
  await send(one, "order-1");
  await eventually(() => kept(two, "states")).toContain("succeeded: succeeded");
});
