/** Leads one life in a process of its own. */

import { writeSync } from "node:fs";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import Database from "better-sqlite3";
import pg from "pg";
import postgres from "postgres";
import type { Store } from "samekey";
import { postgresStore } from "samekey/stores/postgres";
import { type SqliteDriverOption, type SqliteStatement, sqliteStore } from "samekey/stores/sqlite";
import type { ProcessErrand } from "./errand.js";
import { lead } from "./program.js";

const errand: ProcessErrand = JSON.parse(process.argv[2] ?? "");

/** A store, and what ends the connections that it was lent. */
interface Opened {
  readonly store: Store;
  end(): Promise<void>;
}

function open({ store, path, database = "", synced }: ProcessErrand): Opened {
  // As long as the name of a schema may be.
  const schema = path.slice(-63);
  if (store === "postgres") {
    const pool = new pg.Pool({ connectionString: database, max: 2 });
    const listen = () => new pg.Client({ connectionString: database });
    return { store: postgresStore({ pool, schema, listen }), end: () => pool.end() };
  }
  if (store === "postgres.js") {
    const pool = postgres(database, { max: 2, onnotice: () => {} });
    return { store: postgresStore({ pool, schema, listen: pool }), end: () => pool.end() };
  }
  return { store: sqliteStore({ path, driver: synced ? lying(synced) : store }), end: async () => {} };
}

/** A driver that says that everything is synced. */
function lying(synced: string): SqliteDriverOption {
  return (file) => {
    const database = new Database(file);
    const lies = (sql: string): string => sql.replace("synchronous = full", `synchronous = ${synced}`);
    let isOpen = false;
    const exec = (sql: string): unknown => {
      // It is looked at once, when it is opened.
      if (!sql.includes("synchronous = full")) return database.exec(sql);
      const said = isOpen ? lies(sql) : sql;
      isOpen = true;
      return database.exec(said);
    };
    const close = (): unknown => database.close();
    const prepare = (sql: string): SqliteStatement => database.prepare(sql);
    return { exec, close, prepare };
  };
}

const { store, end } = open(errand);
await lead(errand, {
  store,
  sleep: (ms, signal, background) => sleep(ms, undefined, { signal, ref: !background }),
  // Not by IPC, which may keep something back: what was told before it is killed has to be known.
  tell: (told) => void writeSync(1, `${JSON.stringify(told)}\n`),
  die: () => void process.kill(process.pid, "SIGKILL"),
});
await end();
