import { backgroundSync } from "samekey/service-worker";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

const TAG = "samekey:pay";
const none = { succeeded: 0, rejected: 0, misused: 0, expired: 0, blocked: 0, unresolved: 0, remaining: 0 };

/** What the browser was asked to wake the worker for. */
let asked: string[];
let scope: EventTarget;
let sync: { register(tag: string): Promise<void>; getTags(): Promise<string[]> } | undefined;

beforeEach(() => {
  asked = [];
  scope = new EventTarget();
  sync = { register: async (tag) => void asked.push(tag), getTags: async () => asked };
  vi.stubGlobal("ServiceWorkerGlobalScope", class {});
  vi.stubGlobal("registration", {
    get sync() {
      return sync;
    },
  });
  vi.stubGlobal("serviceWorker", { state: "activating" });
  vi.stubGlobal("addEventListener", scope.addEventListener.bind(scope));
  vi.stubGlobal("removeEventListener", scope.removeEventListener.bind(scope));
});
afterEach(() => vi.unstubAllGlobals());

/** An Sdk with so many operations left after each round. */
function sdk(report: Partial<typeof none> = {}, pending = 1) {
  const resume = vi.fn(async () => ({ ...none, ...report }));
  return { name: "pay", on: () => () => {}, counts: async () => ({ pending }), resume };
}

/** What comes of an event; `undefined` where nobody waits for it. */
function dispatch(type: string, what: object = {}): Promise<unknown> | undefined {
  let work: Promise<unknown> | undefined;
  const waitUntil = (promise: Promise<unknown>): void => {
    work = promise;
  };
  scope.dispatchEvent(Object.assign(new Event(type), what, { waitUntil }));
  return work;
}

test.each(["sync", "periodicsync"])("a %s event waits for what is left, and is done when nothing is", async (type) => {
  const it = sdk({ succeeded: 1 });
  backgroundSync(it, { wait: "1m" });
  await expect(dispatch(type, { tag: TAG })).resolves.toBeUndefined();
  expect(it.resume).toHaveBeenCalledWith({ wait: 60_000 });
});

test("the events of others are none of its business", () => {
  const it = sdk();
  backgroundSync(it);
  expect(dispatch("sync", { tag: "samekey:else" })).toBeUndefined();
  expect(dispatch("message", { data: { type: "SKIP_WAITING" } })).toBeUndefined();
  expect(it.resume).not.toHaveBeenCalled();
});

test("while something is left the event fails, so that the browser tries again", async () => {
  backgroundSync(sdk({ succeeded: 1, remaining: 2 }));
  await expect(dispatch("sync", { tag: TAG })).rejects.toMatchObject({ code: "pending" });
  expect(asked).toEqual([]);
});

test("what is blocked or settled is nothing to try again", async () => {
  backgroundSync(sdk({ blocked: 3, rejected: 1 }));
  await expect(dispatch("sync", { tag: TAG })).resolves.toBeUndefined();
});

test.each([
  ["anew if it came to something", { unresolved: 1, remaining: 2 }, [TAG]],
  ["no more if it came to nothing: it would be tried at once, and for ever", { blocked: 1, remaining: 2 }, []],
])("at its last chance the browser is asked %s", async (_, report, expected) => {
  backgroundSync(sdk(report));
  await expect(dispatch("sync", { tag: TAG, lastChance: true })).rejects.toMatchObject({ code: "pending" });
  expect(asked).toEqual(expected);
});

test("nothing is sent before it is known who is signed in", async () => {
  const it = sdk();
  let tell = (_: Error): void => {};
  const prepare = vi.fn(() => new Promise((_, reject) => (tell = reject)));
  backgroundSync(it, { prepare });
  const event = dispatch("sync", { tag: TAG });
  await vi.waitFor(() => expect(prepare).toHaveBeenCalled());
  tell(new Error("offline"));
  await expect(event).rejects.toThrow("offline");
  expect(it.resume).not.toHaveBeenCalled();
});

test.each([
  ["is activated", () => void dispatch("activate")],
  ["is online again", () => void dispatch("online")],
])("a worker that %s asks to be woken for what is left, and does not keep pages waiting", async (_, happen) => {
  const it = sdk();
  backgroundSync(it);
  happen();
  await vi.waitFor(() => expect(asked).toEqual([TAG]));
  expect(it.resume).not.toHaveBeenCalled();
});

test("a worker that is started for something else looks as well", async () => {
  vi.stubGlobal("serviceWorker", { state: "activated" });
  backgroundSync(sdk());
  await vi.waitFor(() => expect(asked).toEqual([TAG]));
});

test("what is asked for already is not asked for again", async () => {
  asked.push(TAG);
  const it = sdk();
  const getTags = vi.spyOn(sync as NonNullable<typeof sync>, "getTags");
  backgroundSync(it);
  dispatch("activate");
  await vi.waitFor(() => expect(getTags).toHaveBeenCalled());
  await new Promise((resolve) => setImmediate(resolve));
  expect(asked).toEqual([TAG]);
});

test("where nothing is left nobody is asked", async () => {
  const it = sdk({}, 0);
  const counts = vi.spyOn(it, "counts");
  backgroundSync(it);
  dispatch("activate");
  await vi.waitFor(() => expect(counts).toHaveBeenCalled());
  await new Promise((resolve) => setImmediate(resolve));
  expect(asked).toEqual([]);
  expect(it.resume).not.toHaveBeenCalled();
});

test.each([
  ["has none", undefined],
  ["refuses", { register: () => Promise.reject(new Error("denied")), getTags: async () => [] }],
])("a browser whose Background Sync %s: the worker does what it can while it is awake", async (_, manager) => {
  sync = manager;
  const it = sdk({ remaining: 1 });
  backgroundSync(it);
  dispatch("activate");
  await vi.waitFor(() => expect(it.resume).toHaveBeenCalledTimes(1));
  await expect(dispatch("message", { data: TAG })).resolves.toBeUndefined();
  expect(it.resume).toHaveBeenCalledTimes(2);
});

test("stopped, it listens no more", () => {
  backgroundSync(sdk())();
  expect(dispatch("sync", { tag: TAG })).toBeUndefined();
});

test("a length of time that is none is refused", () => {
  expect(() => backgroundSync(sdk(), { wait: "soon" as "1s" })).toThrow(/`wait`/);
});
