import process from "node:process";
import { test } from "vitest";
import { contract } from "./contract.js";
import { sqliteHarness } from "./sqlite-harness.js";

contract("SQLite through better-sqlite3", sqliteHarness("better-sqlite3"));

if (process.getBuiltinModule?.("node:sqlite" as "node:fs")) {
  contract("SQLite through node:sqlite", sqliteHarness("node:sqlite"));
} else {
  test("SQLite through node:sqlite", ({ skip }) => {
    skip(`Node ${process.version} has none; \`npm run check:node24\` runs it`);
  });
}
