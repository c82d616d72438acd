/** What holds of every SDK over the wrapped `fetch`: one key, one effect, the same bytes, whatever happens. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { WrapFetchOptions, WrappedFetch } from "samekey";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { type Bundle, bundle } from "../../support/bundle.js";
import { type Child, startChild } from "../../support/child.js";
import { type Api, type Arrival, type Contract, type Handle, startApi } from "./api.js";
import type { Told } from "./program.js";
import { subjects } from "./subjects/index.js";
import type { Subject } from "./subjects/subject.js";
import { wrap } from "./wrap.js";

/** What the tests of one SDK stand on: a new API and a new store for each test. */
export interface Ground {
  readonly api: Api;
  readonly subject: Subject;
  /** Another one over the same store is another process. */
  open(more?: Partial<WrapFetchOptions>): WrappedFetch;
  /** Makes the subject's call in a process of its own, or finishes what an earlier one left. */
  start(how: "call" | "resume"): Child<Told>;
}

export interface Expected {
  /** What the API does with a request. */
  readonly handle: Handle;
  /** @defaultValue as `samekey/server` does it, without its marks */
  readonly contract?: Partial<Contract>;
  /** What the SDK makes of its answer. */
  readonly result: unknown;
  /** The body of the call, as the SDK itself sends it over plain `fetch`. */
  readonly body: string;
}

/** Prepares the ground for the tests of one SDK. */
export function ground(name: string, handle: Handle, contract: Partial<Contract> = {}): Ground {
  const subject = subjects[name] as Subject;
  const opened: WrappedFetch[] = [];
  const children = new Set<Child<Told>>();
  let program: Bundle;
  let directory: string;
  let api: Api;

  beforeAll(async () => {
    program = await bundle(new URL("program.ts", import.meta.url));
  });
  afterAll(() => program?.remove());
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "samekey-sdks-"));
    api = await startApi(handle, contract);
  });
  afterEach(async () => {
    await Promise.all([...children].map((child) => child.crash()));
    children.clear();
    for (const { sdk } of opened.splice(0)) await sdk.close({ timeout: 0 });
    await api.close();
    await rm(directory, { recursive: true, force: true });
  });

  const path = () => join(directory, "store.sqlite");
  const open: Ground["open"] = (more) => {
    const fetch = wrap(subject, api.url, path(), more);
    opened.push(fetch);
    return fetch;
  };
  const start = (how: "call" | "resume"): Child<Told> => {
    const child = startChild<Told>(program.path, { args: [name, api.url, path(), how] });
    children.add(child);
    return child;
  };
  return {
    get api() {
      return api;
    },
    subject,
    open,
    start,
  };
}

/** Puts an SDK to the promise. */
export function keepsThePromise(name: string, { handle, contract, result, body }: Expected): Ground {
  const at = ground(name, handle, contract);
  const answered = async (child: Child<Told>) => (await child.told(({ what }) => what === "result")).value;
  const writes = () => at.api.arrivals.filter(({ key }) => key !== undefined);

  const pay = () => at.subject.pay(at.open(), at.api.url);

  function expectOneOperation(attempts: number): void {
    const arrived = writes();
    expect(arrived).toHaveLength(attempts);
    for (const { bytes } of arrived) expect(bytes.toString()).toBe(body);
    expect(new Set(arrived.map(identityOf)).size, "every attempt is the same request").toBe(1);
    expect(at.api.effects).toEqual([arrived[0]?.key]);
    expect(at.api.overlaps).toBe(0);
  }

  test("nothing goes wrong: one request, and the SDK reads its answer", async () => {
    expect(await pay()).toEqual(result);
    expectOneOperation(1);
  });

  test("a response that is lost, and a twin still in progress: the SDK gets the first answer", async () => {
    at.api.script("lose", "busy", "busy", "lose");
    expect(await pay()).toEqual(result);
    expectOneOperation(5);
  });

  test.each(["call", "resume"] as const)(
    "the process is killed after the send, and the next one finishes it by: %s",
    async (how) => {
      at.api.script("hold");
      const first = at.start("call");
      await vi.waitFor(() => expect(at.api.effects).toHaveLength(1), { timeout: 60_000, interval: 20 });
      await first.crash();
      const second = at.start(how);
      expect(await answered(second)).toMatchObject(
        how === "call" ? (result as object) : { succeeded: 1, remaining: 0 },
      );
      await second.ended();
      expectOneOperation(2);
      expect(await pay(), "from the store").toEqual(result);
      expectOneOperation(2);
    },
  );

  return at;
}

/** What of a request the next attempt has to repeat. */
function identityOf({ method, path, key, headers, bytes }: Arrival): string {
  const { "content-type": type, accept, "content-length": length } = headers;
  return JSON.stringify([method, path, key, type, accept, length, bytes.toString("latin1")]);
}
