/** Leads one life in a process of its own. */

import { writeSync } from "node:fs";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import Database from "better-sqlite3";
import { type SqliteDriverOption, type SqliteStatement, sqliteStore } from "samekey/stores/sqlite";
import type { ProcessErrand } from "./errand.js";
import { lead } from "./program.js";

const errand: ProcessErrand = JSON.parse(process.argv[2] ?? "");

function driverOf({ driver, synced }: ProcessErrand): SqliteDriverOption {
  if (!synced) return driver;
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

await lead(errand, {
  store: sqliteStore({ path: errand.path, driver: driverOf(errand) }),
  sleep: (ms, signal, background) => sleep(ms, undefined, { signal, ref: !background }),
  // Not by IPC, which may keep something back: what was told before it is killed has to be known.
  tell: (told) => void writeSync(1, `${JSON.stringify(told)}\n`),
  die: () => void process.kill(process.pid, "SIGKILL"),
});
