import { execFile } from "node:child_process";
import { chmodSync, copyFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { node24 } from "../../../scripts/node24.mjs";
import { type Bundle, bundle } from "../../support/bundle.js";
import { directory } from "./tools.js";

let program: Bundle;
beforeAll(async () => {
  program = await bundle(new URL("opening.ts", import.meta.url));
});
afterAll(() => program.remove());

interface Told {
  readonly counts?: Record<string, number>;
  readonly code?: string;
  readonly message?: string;
  readonly cause?: string;
}

/** Runs the program in a project whose better-sqlite3 is this one, if any. */
async function run(addon: { version: string; source: string } | undefined, node = process.execPath, who: object = {}) {
  const home = directory();
  chmodSync(home, 0o755);
  copyFileSync(program.path, join(home, "opening.mjs"));
  if (addon) {
    const folder = join(home, "node_modules/better-sqlite3");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "better-sqlite3", version: addon.version }));
    writeFileSync(join(folder, "index.js"), addon.source);
  }
  const state = join(home, "state");
  mkdirSync(state, { mode: 0o500 });
  const path = "uid" in who ? join(state, "store.sqlite") : join(home, "store.sqlite");
  const { stdout } = await promisify(execFile)(node, [join(home, "opening.mjs"), path], { cwd: home, ...who });
  return { told: JSON.parse(stdout) as Told, home };
}

const isOld = Number(process.versions.node.split(".")[0]) < 22;

test("without a driver the error names what to install", async ({ skip }) => {
  if (!isOld) skip("this Node carries one");
  const { told } = await run(undefined);
  expect(told.code).toBe("unavailable");
  expect(told.message).toMatch(/no SQLite driver is installed.*npm install better-sqlite3@12.*Node 22\.13/);
  expect(told.cause).toBe("ERR_MODULE_NOT_FOUND");
});

test("a better-sqlite3 that would crash this Node is not loaded (F77)", async ({ skip }) => {
  if (!isOld) skip("it does not crash this Node");
  const { told, home } = await run({
    version: "13.2.0",
    source: `require("node:fs").writeFileSync("loaded", ""); process.exit(139);`,
  });
  expect(told.code).toBe("unavailable");
  expect(told.message).toMatch(/better-sqlite3 13\.2\.0 needs Node 22\.14 or later.*npm install better-sqlite3@12/);
  expect(existsSync(join(home, "loaded"))).toBe(false);
});

/** What Node throws when the addon was built for another version: at the first database, not at the import. */
const mismatch = {
  version: "12.11.1",
  source: `module.exports = class Database {
    constructor() {
      throw Object.assign(new Error("was compiled against a different Node.js version"), { code: "ERR_DLOPEN_FAILED" });
    }
  };`,
};

test("a better-sqlite3 built for another Node is unavailable, with cause and remedy (F78)", async ({ skip }) => {
  if (!isOld) skip("node:sqlite steps in");
  const { told, home } = await run(mismatch);
  expect(told.code).toBe("unavailable");
  expect(told.message).toMatch(/could not be loaded in Node .*ABI.*npm rebuild better-sqlite3.*another `driver`/);
  expect(told.cause).toBe("ERR_DLOPEN_FAILED");
  expect(existsSync(join(home, "store.sqlite-wal"))).toBe(false);
});

test("where Node carries SQLite, it steps in for what is missing or does not fit", { timeout: 120_000 }, async ({
  skip,
}) => {
  const node = isOld ? node24() : process.execPath;
  if (!node) return skip("npm carries no Node 24 for this platform");
  for (const addon of [undefined, mismatch]) {
    const { told } = await run(addon, node);
    expect(told).toEqual({ counts: { pending: 1 } });
  }
});

test("a directory that cannot be written to is one clear error", async ({ skip }) => {
  if (process.platform === "win32") skip("there is no such user");
  // Root can write anywhere, so it is done as someone else.
  const someone = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : { uid: process.getuid?.() };
  const { told } = await run({ version: "12.11.1", source: "" }, process.execPath, someone);
  expect(told.code).toBe("unavailable");
  expect(told.message).toMatch(
    /state\/store\.sqlite: EACCES.*Choose a path that this user can write to.*\$SAMEKEY_DIR/,
  );
});
