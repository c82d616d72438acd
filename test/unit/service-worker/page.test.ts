import { post } from "samekey";
import { backgroundSync } from "samekey/service-worker";
import { createTestSdk, status } from "samekey/testing";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

const TAG = "samekey:pay";

let asked: string[];
let posted: unknown[];
let page: EventTarget;
let document: EventTarget & { visibilityState: string };
let navigator: { onLine: boolean; serviceWorker?: object };
let sync: { register(tag: string): Promise<void> } | undefined;

beforeEach(() => {
  asked = [];
  posted = [];
  page = new EventTarget();
  document = Object.assign(new EventTarget(), { visibilityState: "visible" });
  sync = { register: async (tag) => void asked.push(tag) };
  const registration = {
    get sync() {
      return sync;
    },
    active: { postMessage: (message: unknown) => posted.push(message) },
  };
  navigator = { onLine: true, serviceWorker: { ready: Promise.resolve(registration) } };
  vi.stubGlobal("document", document);
  vi.stubGlobal("navigator", navigator);
  vi.stubGlobal("addEventListener", page.addEventListener.bind(page));
  vi.stubGlobal("removeEventListener", page.removeEventListener.bind(page));
});
afterEach(() => vi.unstubAllGlobals());

const shop = () =>
  createTestSdk({ name: "pay", operations: { transfer: post<{ amount: number }, { id: string }>("/transfers") } });

function goOffline(): void {
  navigator.onLine = false;
  page.dispatchEvent(new Event("offline"));
}
function hide(): void {
  document.visibilityState = "hidden";
  document.dispatchEvent(new Event("visibilitychange"));
}
/** Everything that was begun has ended. */
const quiet = () => new Promise((resolve) => setImmediate(resolve));

test("a page that is seen and online asks for nothing", async () => {
  const app = shop();
  backgroundSync(app.sdk);
  await app.until(app.sdk.operation("transfer", { amount: 1 }).send());
  hide();
  goOffline();
  await quiet();
  expect([asked, posted]).toEqual([[], []]);
});

test("what is recorded offline is asked for at once", async () => {
  const { sdk } = shop();
  backgroundSync(sdk);
  goOffline();
  await sdk.operation("transfer", { amount: 1 }).save();
  await vi.waitFor(() => expect(asked).toEqual([TAG]));
  expect(posted).toEqual([]);
});

test.each([
  ["is hidden", hide],
  ["goes offline", goOffline],
])("a page that %s asks for what it has left", async (_, leave) => {
  const { sdk } = shop();
  backgroundSync(sdk);
  await sdk.operation("transfer", { amount: 1 }).save();
  await quiet();
  expect(asked).toEqual([]);
  leave();
  await vi.waitFor(() => expect(asked).toEqual([TAG]));
});

test("an attempt that fails while the page is hidden is asked for; one that needs a person is not", async () => {
  const app = shop();
  backgroundSync(app.sdk);
  app.server.script(status(503), status(401));
  const handle = app.sdk.operation("transfer", { amount: 1 });
  hide();
  const outcome = app.until(handle.outcome());
  await outcome;
  expect((await outcome).state).toBe("blocked");
  const before = asked.length;
  expect(before).toBeGreaterThan(0);
  hide();
  await quiet();
  expect(asked).toHaveLength(before);
});

test.each([
  ["has none", undefined],
  ["refuses", { register: () => Promise.reject(new Error("denied")) }],
  ["does not answer before the page is gone", { register: () => new Promise<void>(() => {}) }],
])("where Background Sync %s the worker of a page that is left is told by a message", async (_, manager) => {
  sync = manager;
  const { sdk } = shop();
  backgroundSync(sdk);
  await sdk.operation("transfer", { amount: 1 }).save();
  hide();
  await vi.waitFor(() => expect(posted).toEqual([TAG]));
});

test("a worker that is ready later is asked then", async () => {
  let ready = (_: object): void => {};
  const { serviceWorker } = navigator as { serviceWorker: { ready: Promise<object> } };
  const registration = await serviceWorker.ready;
  serviceWorker.ready = new Promise((resolve) => (ready = resolve));
  const { sdk } = shop();
  backgroundSync(sdk);
  goOffline();
  await sdk.operation("transfer", { amount: 1 }).save();
  expect(asked).toEqual([]);
  ready(registration);
  await vi.waitFor(() => expect(asked).toEqual([TAG]));
});

test("stopped, it asks no more", async () => {
  const { sdk } = shop();
  const stop = backgroundSync(sdk);
  await sdk.operation("transfer", { amount: 1 }).save();
  stop();
  hide();
  goOffline();
  await quiet();
  expect([asked, posted]).toEqual([[], []]);
});

test.each([
  ["a server", {}],
  ["plain http, where there are no service workers", { document: new EventTarget(), navigator: { onLine: true } }],
])("on %s it does nothing", async (_, globals) => {
  vi.unstubAllGlobals();
  for (const name of ["document", "navigator"]) vi.stubGlobal(name, (globals as Record<string, unknown>)[name]);
  const app = shop();
  const stop = backgroundSync(app.sdk);
  await app.until(app.sdk.operation("transfer", { amount: 1 }).send());
  stop();
});
