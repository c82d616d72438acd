import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Store } from "../../src/store.js";
import { loadDriver, type SqliteDatabase } from "../../src/stores/sqlite/driver.js";
import { sqliteStore } from "../../src/stores/sqlite.js";
import type { ContractHarness, SyncLevel } from "../../src/testing/store-contract.js";
import { context } from "../support/records.js";

/** SQLite files in a directory of their own, through the named driver, which is listened to. */
export function sqliteHarness(name: "better-sqlite3" | "node:sqlite"): ContractHarness {
  return {
    async create() {
      const directory = await mkdtemp(join(tmpdir(), "samekey-contract-"));
      const path = join(directory, "store.sqlite");
      const load = await loadDriver(name);
      const spy = new Spy();
      const handles: Store[] = [];
      const open = async (): Promise<Store> => {
        const store = sqliteStore({ path, driver: (file) => spy.on(load(file)) });
        handles.push(store);
        await store.open(context);
        return store;
      };
      const closeAll = () => Promise.all(handles.splice(0).map((store) => store.close()));
      return {
        store: await open(),
        second: open,
        async reopen() {
          await closeAll();
          return open();
        },
        lastSync: () => spy.committed,
        async breakReads() {
          spy.broken = true;
        },
        async destroy() {
          await closeAll();
          await rm(directory, { recursive: true, force: true });
        },
      };
    },
  };
}

/** Listens to what a connection is told. */
class Spy {
  /** How the last transaction that wrote was committed. */
  committed: SyncLevel | undefined;
  /** Statements that read fail from now on. */
  broken = false;
  #level: SyncLevel | undefined;
  #wrote = false;

  on(db: SqliteDatabase): SqliteDatabase {
    return {
      exec: (sql) => {
        const level = /pragma synchronous = (full|normal)/.exec(sql)?.[1];
        if (level) this.#level = level === "full" ? "strict" : "relaxed";
        if (sql.startsWith("begin")) this.#wrote = false;
        const result = db.exec(sql);
        if (sql === "commit" && this.#wrote) this.committed = this.#level;
        return result;
      },
      prepare: (sql) => {
        const statement = db.prepare(sql);
        const reading = <T>(read: () => T): T => {
          if (this.broken) throw Object.assign(new Error("disk I/O error"), { code: "SQLITE_IOERR_READ" });
          return read();
        };
        return {
          run: (...values) => {
            this.#wrote = true;
            return statement.run(...values);
          },
          get: (...values) => reading(() => statement.get(...values)),
          all: (...values) => reading(() => statement.all(...values)),
        };
      },
      close: () => db.close(),
    };
  }
}
