import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { OperationRecord } from "../../src/core/record.js";
import { indexedDbStore } from "../../src/stores/indexeddb.js";
import { leased, marked, newRecord, succeeded, T0 } from "../../src/testing/store-contract/records.js";
import { clock } from "./indexeddb.harness.js";
import {
  deleteDatabase,
  freshName,
  impatient,
  killConnection,
  nextTask,
  openRaw,
  openStore,
  replace,
  stubGlobal,
  stubLocalStorage,
  watch,
} from "./indexeddb.tools.js";

/** What only this store can get wrong. `place` names the IndexedDB they run on. */
export function indexedDbCases(place: string): void {
  describe(`indexeddb on ${place}: transactions`, () => {
    test("100 saves in one task are one strict transaction, with one request per record (F72)", async () => {
      const store = await openStore();
      const seen = watch();
      const saved = await Promise.all(Array.from({ length: 100 }, () => store.insert(newRecord())));
      expect(new Set(saved.map(({ record }) => record.seq)).size).toBe(100);
      expect(seen).toEqual([
        {
          mode: "readwrite",
          durability: "strict",
          requests: [...Array(100).fill("operations.add"), "counts.put"],
          commits: 1,
        },
      ]);
    });

    test("100 saves, a task each, are two strict transactions at most", async () => {
      const store = await openStore();
      const seen = watch();
      const saves: Promise<unknown>[] = [];
      for (let i = 0; i < 100; i += 1) {
        await nextTask();
        saves.push(store.insert(newRecord()));
      }
      await Promise.all(saves);
      expect(seen.length).toBeLessThanOrEqual(2);
      expect(seen.flatMap(({ requests }) => requests).filter((it) => it === "operations.add")).toHaveLength(100);
    });

    test("a transaction ends although more and more want to join it", async () => {
      const store = await openStore();
      let going = true;
      replace(IDBObjectStore.prototype, "add", (add) => {
        return function (this: IDBObjectStore, ...given) {
          const request = add.apply(this, given);
          request.addEventListener("success", () => going && void store.insert(newRecord()));
          return request;
        };
      });
      await store.insert(newRecord());
      going = false;
    });

    test("what needs syncing does not join a transaction that is not synced", async () => {
      const store = await openStore();
      const { record } = await store.insert(newRecord());
      const seen = watch();
      let joining: Promise<unknown> | undefined;
      replace(IDBObjectStore.prototype, "put", (put) => {
        return function (this: IDBObjectStore, ...given) {
          joining ??= store.insert(newRecord());
          return put.apply(this, given);
        };
      });
      await store.update(record.id, (it) => leased(it, "tab", T0));
      await joining;
      expect(seen.map(({ durability }) => durability)).toEqual(["relaxed", "strict"]);
    });

    test("strict exactly where it must be (F72)", async () => {
      const store = await openStore();
      const { record } = await store.insert(newRecord());
      const seen = watch();
      const kinds = () => seen.splice(0).map(({ mode, durability }) => `${mode} ${durability}`);
      const claimed = await store.update(record.id, (it) => leased(it, "tab", T0), record);
      expect(kinds()).toEqual(["readwrite relaxed"]);
      const sent = await store.update(record.id, (it) => marked(it, T0), claimed);
      expect(kinds()).toEqual(["readwrite strict"]);
      await store.update(record.id, (it) => succeeded(it, T0), sent);
      expect(kinds()).toEqual(["readwrite relaxed"]);
      await store.get(record.id);
      expect(kinds()).toEqual(["readonly relaxed"]);
      const other = (await store.insert(newRecord())).record;
      kinds();
      // Without a base it shows only inside: the transaction is taken back and begun anew.
      const after = await store.update(other.id, (it) => marked(it, T0));
      expect(kinds()).toEqual(["readwrite relaxed", "readwrite strict"]);
      expect(after?.rev).toBe(2);
    });

    test("a save resolves on complete, not when its request succeeds (F66)", async () => {
      const store = await openStore();
      const order: string[] = [];
      watch((tx) => tx.addEventListener("complete", () => order.push("complete")));
      replace(IDBObjectStore.prototype, "add", (add) => {
        return function (this: IDBObjectStore, ...given) {
          const request = add.apply(this, given);
          request.addEventListener("success", () => order.push("success"));
          return request;
        };
      });
      await store.insert(newRecord()).then(() => order.push("saved"));
      expect(order).toEqual(["success", "complete", "saved"]);
    });

    test("the log of counts is folded, and stays true", async () => {
      const name = freshName();
      const store = await openStore(name);
      for (let i = 0; i < 40; i += 1) {
        const { record } = await store.insert(newRecord({ owner: i % 2 ? "ada" : "bob" }));
        if (i % 4 === 0) await store.update(record.id, (it) => succeeded(it, T0), record);
      }
      const raw = await openRaw(name);
      onTestFinished(() => raw.close());
      const rows = await new Promise<number>((resolve) => {
        const request = raw.transaction("counts").objectStore("counts").count();
        request.onsuccess = () => resolve(request.result);
      });
      expect(rows).toBeLessThan(40);
      expect(await store.counts()).toEqual({ pending: 30, succeeded: 10 });
      expect(await store.counts("ada")).toEqual({ pending: 20 });
      expect(await store.counts("bob")).toEqual({ pending: 10, succeeded: 10 });
    });
  });

  describe(`indexeddb on ${place}: one bad verb among good ones`, () => {
    const good = async (store: Awaited<ReturnType<typeof openStore>>, bad: () => Promise<unknown>) => {
      const before = store.insert(newRecord());
      const failing = bad().then(
        () => undefined,
        (error: unknown) => error,
      );
      const after = store.insert(newRecord());
      const { record: a } = await before;
      const { record: b } = await after;
      expect([(await store.get(a.id))?.id, (await store.get(b.id))?.id]).toEqual([a.id, b.id]);
      return failing;
    };

    test("an updater that throws, or returns a promise, fails alone (F69 F71)", async () => {
      const store = await openStore();
      const { record } = await store.insert(newRecord());
      const seen = watch();
      const boom = new Error("no such move");
      const thrown = await good(store, () =>
        store.update(record.id, () => {
          throw boom;
        }),
      );
      expect(thrown).toBe(boom);
      expect(seen.filter(({ mode }) => mode === "readwrite")).toHaveLength(1);
      const late = await good(store, () => store.update(record.id, (async (it: OperationRecord) => it) as never));
      expect(String(late)).toMatch(/promise/);
      expect(await store.get(record.id)).toEqual(record);
    });

    test("a value that cannot be cloned fails alone (F71)", async () => {
      const store = await openStore();
      const { record } = await store.insert(newRecord());
      const error = await good(store, () => store.update(record.id, (it) => ({ ...it, hash: (() => {}) as never })));
      expect(error).toMatchObject({ name: "StoreError", code: "unavailable" });
      const given = newRecord({ hash: (() => {}) as never });
      expect(await good(store, () => store.insert(given))).toMatchObject({ code: "unavailable" });
      expect([await store.get(record.id), await store.get(given.id)]).toEqual([record, undefined]);
      expect(await store.counts()).toEqual({ pending: 5 });
    });

    test("a claim that fails half-way changes nothing, and fails alone", async () => {
      const store = await openStore();
      const made = await Promise.all([1, 2, 3].map(() => store.insert(newRecord({ owner: "bob" }))));
      const last = made[2]?.record.id;
      const error = await good(store, () =>
        store.claim({ now: T0, limit: 3, owner: "bob" }, (it) => ({
          ...leased(it, "tab", T0),
          code: it.id === last ? ((() => {}) as never) : "x",
        })),
      );
      expect(error).toMatchObject({ code: "unavailable" });
      for (const { record } of made) expect(await store.get(record.id)).toEqual(record);
    });

    test("a request that fails takes only its own verb with it", async () => {
      const store = await openStore();
      const poisoned = newRecord({ name: "poisoned" });
      replace(IDBObjectStore.prototype, "add", (add) => {
        return function (this: IDBObjectStore, value, ...key) {
          if (value?.record?.name !== "poisoned") return add.call(this, value, ...key);
          // Refused by the engine itself, not by an index of ours: nothing prevents that from ending the transaction.
          const request = add.call(this, value, ...key);
          Object.defineProperty(request, "error", { get: () => new DOMException("disk", "DataError"), set: () => {} });
          queueMicrotask(() => this.transaction.abort());
          return request;
        };
      });
      const error = await good(store, () => store.insert(poisoned));
      expect(error).toMatchObject({ name: "StoreError" });
      expect(await store.get(poisoned.id)).toBeUndefined();
    });

    test("a base from before the database was made anew does not lead to another record", async () => {
      const store = await openStore();
      const { record: a } = await store.insert(newRecord());
      const { record: b } = await store.insert(newRecord());
      const changed = await store.update(a.id, (it) => ({ ...it, timeouts: 1 }), { ...a, seq: b.seq });
      expect(changed).toMatchObject({ id: a.id, seq: a.seq, timeouts: 1 });
      expect(await store.get(b.id)).toEqual(b);
    });

    test("20 updates of one record in one task are 20 (F71)", async () => {
      const store = await openStore();
      const { record } = await store.insert(newRecord());
      const more = (it: OperationRecord) => ({ ...it, timeouts: it.timeouts + 1 });
      await Promise.all(Array.from({ length: 20 }, () => store.update(record.id, more, record)));
      expect(await store.get(record.id)).toMatchObject({ timeouts: 20, rev: 21 });
    });
  });

  describe(`indexeddb on ${place}: the connection`, () => {
    test("importing and making a store opens nothing", () => {
      const open = vi.spyOn(IDBFactory.prototype, "open");
      onTestFinished(() => open.mockRestore());
      indexedDbStore({ name: "unused" });
      expect(open).not.toHaveBeenCalled();
    });

    test("stores of one name share one connection, which the last one closes", async () => {
      const name = freshName();
      const opened: IDBDatabase[] = [];
      replace(IDBFactory.prototype, "open", (open) => {
        return function (this: IDBFactory, ...given) {
          const request = open.apply(this, given);
          request.addEventListener("success", () => opened.push(request.result));
          return request;
        };
      });
      const close = vi.spyOn(IDBDatabase.prototype, "close");
      onTestFinished(() => close.mockRestore());
      const [one, two] = [await openStore(name), await openStore(name)];
      const named = indexedDbStore({ name });
      await named.open({ name: "something else", clock });
      expect(opened).toHaveLength(1);
      expect(opened[0]?.name).toBe(`samekey:${name}`);
      await one.close();
      await named.close();
      expect((await two.insert(newRecord())).joined).toBeUndefined();
      expect(close).not.toHaveBeenCalled();
      await two.close();
      expect(close).toHaveBeenCalledTimes(1);
    });

    test("one that is opened again while it closes works, and lets go in the end", async () => {
      const name = freshName();
      const store = await openStore(name);
      const saving = store.insert(newRecord());
      const closing = store.close();
      await store.open({ name, clock });
      await Promise.all([saving, closing]);
      expect(await store.counts()).toEqual({ pending: 1 });
      await store.close();
      await expect(deleteDatabase(name)).resolves.toBeUndefined();
    });

    test("a connection closed without an event is opened again (F61)", async () => {
      const store = await openStore();
      const { record } = await store.insert(newRecord());
      await killConnection(() => store.counts());
      const saved = await store.insert(newRecord({ id: record.id }));
      expect(saved).toMatchObject({ joined: "id", record: { seq: record.seq } });
    });

    test("a connection that stays dead is told, and never reported as saved (F61)", async () => {
      const store = await openStore();
      const { record } = await store.insert(newRecord());
      let tries = 0;
      const dead = replace(IDBDatabase.prototype, "transaction", () => {
        return () => {
          tries += 1;
          throw new DOMException("The database connection is closing.", "InvalidStateError");
        };
      });
      await expect(store.insert(newRecord())).rejects.toMatchObject({ name: "StoreError", code: "unavailable" });
      expect(tries).toBe(2);
      await expect(store.get(record.id)).rejects.toMatchObject({ code: "unavailable" });
      dead();
      expect(await store.get(record.id)).toEqual(record);
    });

    test("WebKit's lost transaction is a failure that reopening may cure, never an absent record (F62)", async () => {
      const store = await openStore();
      const { record } = await store.insert(newRecord());
      const webkit = "Attempt to get a record from database without an in-progress transaction";
      let failing = 1;
      replace(IDBIndex.prototype, "openCursor", (open) => {
        return function (this: IDBIndex, ...given) {
          if (failing-- > 0) throw new DOMException(webkit, "UnknownError");
          return open.apply(this, given);
        };
      });
      expect(await store.get(record.id)).toEqual(record);
      failing = 2;
      await expect(store.get(record.id)).rejects.toMatchObject({ code: "unavailable" });
    });

    test("a failed open is told, and tried again the next time", async () => {
      const name = freshName();
      const store = indexedDbStore();
      onTestFinished(() => store.close());
      const heal = replace(IDBFactory.prototype, "open", () => () => {
        throw new DOMException("Access to storage is denied", "SecurityError");
      });
      await expect(store.open({ name, clock })).rejects.toMatchObject({ name: "StoreError", code: "unavailable" });
      await expect(store.insert(newRecord())).rejects.toMatchObject({ code: "unavailable" });
      heal();
      expect((await store.insert(newRecord())).record.seq).toBe(1);
    });

    test("where there is no IndexedDB that is said", async () => {
      stubGlobal("indexedDB", undefined);
      const opening = indexedDbStore().open({ name: freshName(), clock });
      await expect(opening).rejects.toMatchObject({ code: "unavailable", message: expect.stringMatching(/IndexedDB/) });
    });

    test("another tab's upgrade is let through, and a newer schema refused as it is", async () => {
      const name = freshName();
      const store = await openStore(name);
      const { record } = await store.insert(newRecord());
      (await openRaw(name, 101)).close();
      expect(await store.get(record.id), "an addition is no breaking version").toEqual(record);
      (await openRaw(name, 200)).close();
      await expect(store.get(record.id)).rejects.toMatchObject({ name: "StoreError", code: "newer_schema" });
      await expect(openStore(name)).rejects.toMatchObject({ code: "newer_schema" });
      const raw = await openRaw(name);
      onTestFinished(() => raw.close());
      expect([raw.version, [...raw.objectStoreNames]]).toEqual([200, ["counts", "operations"]]);
    });

    test("what a newer samekey has added to a record is kept, whatever it has left out", async () => {
      const name = freshName();
      const store = await openStore(name);
      const { record } = await store.insert(newRecord());
      const raw = await openRaw(name);
      onTestFinished(() => raw.close());
      const operations = raw.transaction("operations", "readwrite").objectStore("operations");
      const row = await new Promise<{ record: object }>((resolve) => {
        const request = operations.get(record.seq);
        request.onsuccess = () => resolve(request.result);
      });
      const { traceparent: _, ...others } = row.record as typeof record;
      const put = operations.put({ ...row, record: { ...others, colour: "red" } }, record.seq);
      await new Promise((resolve) => put.addEventListener("success", resolve));
      expect(await store.update(record.id, (it) => ({ ...it, attempts: 1 }))).toMatchObject({ colour: "red" });
      expect(await store.get(record.id)).toMatchObject({ colour: "red", attempts: 1 });
    });

    test("a database without our object stores gets them, and keeps what it has (F65)", async () => {
      for (const version of [1, 100]) {
        const name = freshName();
        (await openRaw(name, version, (db) => db.createObjectStore("keyval"))).close();
        const store = await openStore(name);
        expect((await store.insert(newRecord())).record.seq).toBe(1);
        const raw = await openRaw(name);
        expect([...raw.objectStoreNames]).toEqual(["counts", "keyval", "operations"]);
        raw.close();
      }
    });

    test("two stores of different names do not meet (F65)", async () => {
      const [one, two] = [await openStore(), await openStore()];
      const { record } = await one.insert(newRecord());
      expect(await two.get(record.id)).toBeUndefined();
      expect((await two.insert(newRecord({ id: record.id }))).joined).toBeUndefined();
    });

    test("a database that does not open in time is told, and opened once it can be", async () => {
      const name = freshName();
      // An old tab that ignores `versionchange`.
      const old = await openRaw(name, 1, (db) => db.createObjectStore("keyval"));
      const store = indexedDbStore();
      onTestFinished(() => store.close());
      await expect(store.open({ name, clock: impatient })).rejects.toMatchObject({ code: "stalled" });
      old.close();
      await vi.waitFor(async () => expect((await store.insert(newRecord())).joined).toBeUndefined());
      await store.close();
      await expect(deleteDatabase(name), "the late one was closed").resolves.toBeUndefined();
    });
  });

  describe(`indexeddb on ${place}: deadlines, aborts and quota`, () => {
    test("what need not be synced is written in a task of its own: whoever was told of it goes on first", async () => {
      const store = await openStore();
      const { record } = await store.insert(newRecord());
      let begun = 0;
      watch(() => begun++);
      const writing = store.update(record.id, (found) => ({ ...found, delay: found.delay + 1 }), record);
      for (let turn = 0; turn < 50; turn++) await undefined;
      expect(begun).toBe(0);
      await writing;
      expect(begun).toBe(1);
    });

    test("a transaction that another tab holds up is aborted and told (F59)", async () => {
      const name = freshName();
      const store = await openStore(name, impatient);
      const raw = await openRaw(name);
      onTestFinished(() => raw.close());
      const frozen = raw.transaction("operations", "readwrite");
      let holding = true;
      const hold = () => {
        if (holding) frozen.objectStore("operations").get(1).onsuccess = hold;
      };
      hold();
      const given = newRecord();
      await expect(store.insert(given)).rejects.toMatchObject({ name: "StoreError", code: "stalled" });
      holding = false;
      const open = vi.spyOn(IDBFactory.prototype, "open");
      expect(await store.get(given.id), "it was not recorded after all").toBeUndefined();
      expect(open, "a connection that hung is not used again").toHaveBeenCalledTimes(1);
      open.mockRestore();
    });

    test("a commit whose end nobody hears of may have been saved, and says so", async () => {
      const name = freshName();
      const store = await openStore(name, impatient);
      let deaf = true;
      watch((tx) => deaf && Object.defineProperty(tx, "oncomplete", { set: () => {} }));
      const given = newRecord();
      await expect(store.insert(given)).rejects.toMatchObject({ code: "not_durable" });
      deaf = false;
      expect((await store.get(given.id))?.id).toBe(given.id);
    });

    test("an abort without an error is no save: tried once more, then told (F66)", async () => {
      const store = await openStore();
      let aborts = 1;
      watch((tx) => {
        if (aborts-- > 0) {
          tx.objectStore("operations").get(1).onsuccess = () => tx.abort();
        }
      });
      const once = newRecord();
      expect((await store.insert(once)).joined).toBeUndefined();
      aborts = 2;
      const never = newRecord();
      await expect(store.insert(never)).rejects.toMatchObject({ name: "StoreError", code: "unavailable" });
      expect([(await store.get(once.id))?.id, await store.get(never.id)]).toEqual([once.id, undefined]);
    });

    test("a full disk refuses what does not fit, tells the figures and evicts nothing (F66 F67)", async () => {
      const store = await openStore();
      const { record } = await store.insert(newRecord());
      const full = new DOMException("Encountered full disk", "QuotaExceededError");
      watch((tx) => {
        if (tx.mode !== "readwrite") return;
        Object.defineProperty(tx, "error", { get: () => full });
        tx.objectStore("operations").get(1).onsuccess = () => tx.abort();
      });
      const given = newRecord();
      const error = await store.insert(given).catch((reason: unknown) => reason);
      expect(error).toMatchObject({ name: "StoreError", code: "store_full", cause: full });
      expect([await store.get(given.id), await store.get(record.id)]).toEqual([undefined, record]);
    });
  });

  describe(`indexeddb on ${place}: what surrounds the database`, () => {
    test("a store that was evicted says so, once (F73)", async () => {
      stubLocalStorage();
      const name = freshName();
      const first = await openStore(name);
      expect(first.reset).toBe(false);
      await first.insert(newRecord());
      await first.close();
      const again = await openStore(name);
      expect(again.reset).toBe(false);
      await again.close();
      await deleteDatabase(name);
      const evicted = await openStore(name);
      expect(evicted.reset).toBe(true);
      await evicted.close();
      expect((await openStore(name)).reset).toBe(false);
    });

    test("one that never held a record was not evicted (F73)", async () => {
      stubLocalStorage();
      const name = freshName();
      await (await openStore(name)).close();
      await deleteDatabase(name);
      expect((await openStore(name)).reset).toBe(false);
    });

    test("clearing it under an open store is noticed at its next use (F73)", async () => {
      stubLocalStorage();
      const name = freshName();
      const store = await openStore(name);
      const { record } = await store.insert(newRecord());
      await deleteDatabase(name);
      expect(await store.get(record.id)).toBeUndefined();
      expect(store.reset).toBe(true);
    });

    test("persistence is asked for at the first save, and not waited for", async () => {
      const persist = vi.fn(() => new Promise<boolean>(() => {}));
      stubGlobal("navigator", { storage: { persist } });
      const store = await openStore();
      expect(persist).not.toHaveBeenCalled();
      await store.insert(newRecord());
      await store.insert(newRecord());
      expect(persist).toHaveBeenCalledTimes(1);
      expect(store.persisted).toBeUndefined();
    });

    test("what the browser answered is told, and its absence or refusal tolerated", async () => {
      const answers: [unknown, boolean | undefined][] = [
        [{ storage: { persist: async () => true } }, true],
        [{ storage: { persist: () => Promise.reject(new Error("no")) } }, undefined],
        [{ storage: {} }, undefined],
        [undefined, undefined],
      ];
      for (const [navigator, expected] of answers) {
        stubGlobal("navigator", navigator);
        const store = await openStore();
        await store.insert(newRecord());
        await undefined;
        expect(store.persisted).toBe(expected);
      }
    });

    test("plain http: no Web Locks, no subtle crypto, no randomUUID, no localStorage (F13)", async () => {
      const getRandomValues = crypto.getRandomValues.bind(crypto);
      stubGlobal("crypto", { getRandomValues });
      stubGlobal("navigator", {});
      stubGlobal("localStorage", undefined);
      const store = await openStore();
      const { record } = await store.insert(newRecord());
      const { records } = await store.claim({ now: T0, limit: 1 }, (it) => leased(it, "tab", T0));
      expect(records.map(({ id }) => id)).toEqual([record.id]);
    });

    test("two handles claim 50 items: exactly 50 claims (F46)", async () => {
      const name = freshName();
      const [one, two] = [await openStore(name), await openStore(name)];
      await Promise.all(Array.from({ length: 50 }, () => one.insert(newRecord())));
      const claims: string[] = [];
      const drain = async (store: typeof one, holder: string) => {
        for (;;) {
          const { records } = await store.claim({ now: T0, limit: 3 }, (it) => leased(it, holder, T0));
          if (records.length === 0) return;
          claims.push(...records.map(({ id }) => id));
        }
      };
      await Promise.all([drain(one, "one"), drain(two, "two")]);
      expect([claims.length, new Set(claims).size]).toEqual([50, 50]);
    });

    test("claim leaps over owners and what is not due: its requests do not grow with what waits", async () => {
      const store = await openStore();
      const later = { nextAttemptAt: T0 + 60_000, delay: 60_000 };
      const owners = ["ada", "bob", "eve"];
      await Promise.all(
        Array.from({ length: 300 }, (_, i) => store.insert(newRecord({ owner: owners[i % 3] as string, ...later }))),
      );
      const due = (await store.insert(newRecord({ owner: "eve" }))).record;
      let steps = 0;
      replace(IDBCursor.prototype, "continue", (go) => {
        return function (this: IDBCursor, ...key) {
          steps += 1;
          return go.apply(this, key);
        };
      });
      const { records, next } = await store.claim({ now: T0, limit: 5 }, (it) => leased(it, "tab", T0));
      expect([records.map(({ id }) => id), next]).toEqual([[due.id], T0 + 30_000]);
      expect(steps).toBeLessThan(16);
    });
  });
}
