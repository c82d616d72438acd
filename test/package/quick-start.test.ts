import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { installPacked } from "../../scripts/consumer.mjs";
import { root } from "../../scripts/entries.mjs";

const page = readFileSync(join(root, "docs/quick-start.md"), "utf8");
const children: ChildProcess[] = [];
let directory: string;

beforeAll(() => {
  directory = installPacked(["better-sqlite3"]);
  for (const [, file = "", code = ""] of page.matchAll(/^```js\n\/\/ (\S+)\n([\s\S]*?)^```/gm)) {
    writeFileSync(join(directory, file), code);
  }
});

afterAll(() => {
  for (const child of children) child.kill("SIGKILL");
  rmSync(directory, { recursive: true, force: true });
});

/** A program of the page, and what it has printed so far. */
function start(file: string, env: Record<string, string>) {
  const child = spawn(process.execPath, [file], {
    cwd: directory,
    env: { ...process.env, SAMEKEY_DIR: join(directory, "data"), ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  let printed = "";
  child.stdout.on("data", (chunk) => {
    printed += chunk;
  });
  const over = new Promise<number | null>((resolve) => child.once("close", resolve));
  return { child, over, output: () => printed };
}

const until = (condition: () => void) => vi.waitFor(condition, { timeout: 60_000 });

test("the quick start ends as its page says: replayed, then from the store, and one transfer", async () => {
  const api = start("api.mjs", { PORT: "0" });
  await until(() => expect(api.output()).toMatch(/port \d+/));
  const env = { API: `http://127.0.0.1:${/port (\d+)/.exec(api.output())?.[1]}` };

  const first = start("pay.mjs", env);
  await until(() => expect(api.output()).toContain("transfer 1 is done"));
  first.child.kill("SIGINT");
  await first.over;
  expect(first.output()).toBe("");

  for (const source of ["replayed", "store"]) {
    const next = start("pay.mjs", env);
    expect(await next.over).toBe(0);
    expect(next.output()).toBe(`${source} { transfer: 1 }\n`);
    expect(page).toContain(`\`${source} { transfer: 1 }\``);
  }
  expect(api.output().match(/is done/g)).toHaveLength(1);

  // The commands that look at what is on the disk.
  const commands = [...page.matchAll(/^npx (samekey .*)$/gm)].map(([, command = ""]) => command.split(" "));
  expect(commands.map(([, verb]) => verb)).toEqual(["list", "verify"]);
  const told = [];
  for (const [, ...words] of commands) {
    const env = { ...process.env, SAMEKEY_DIR: join(directory, "data") };
    told.push(spawnSync("npx", ["samekey", ...words], { cwd: directory, env, encoding: "utf8" }));
  }
  expect(told[0]?.stdout).toMatch(/succeeded +transfer +order-7 +single .* 2 +yes$/m);
  expect(told[1]?.stderr).toBe("1 record checked, nothing wrong\n");
});
