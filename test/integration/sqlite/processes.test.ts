import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Bundle, bundle } from "../../support/bundle.js";
import { clock, newRecord } from "../../support/records.js";
import { directory, later, opened } from "./tools.js";

let program: Bundle;
beforeAll(async () => {
  program = await bundle(new URL("worker.ts", import.meta.url));
});
afterAll(() => program.remove());

interface Worker {
  readonly child: ChildProcess;
  /** Everything it has told so far, in order. */
  lines(): string[];
  readonly over: Promise<number | null>;
}

function start(path: string, name: string, count: number): Worker {
  const log = `${path}.${name}.log`;
  // A file, since what is written to a pipe may be refused, or lost with the process.
  const out = openSync(log, "w");
  const child = spawn(process.execPath, ["--enable-source-maps", program.path, path, name, String(count)], {
    stdio: ["ignore", out, "inherit"],
  });
  closeSync(out);
  later(() => child.kill("SIGKILL"));
  const over = once(child, "exit").then(([code]) => code as number | null);
  return { child, over, lines: () => readFileSync(log, "utf8").split("\n").slice(0, -1) };
}

const told = (workers: Worker[], what: string): string[] =>
  workers.flatMap(({ lines }) =>
    lines()
      .filter((line) => line.startsWith(`${what} `))
      .map((line) => line.slice(what.length + 1)),
  );

test("eight processes, 500 operations each, one file: none lost, none taken twice (F79)", {
  timeout: 120_000,
}, async () => {
  const path = join(directory(), "store.sqlite");
  const store = await opened({ path });
  await store.insert(newRecord({ id: "shared", owner: "everyone" }));
  const workers = Array.from({ length: 8 }, (_, i) => start(path, `p${i}`, 500));
  expect(await Promise.all(workers.map(({ over }) => over))).toEqual(Array(8).fill(0));

  expect(new Set(told(workers, "inserted")).size).toBe(4000);
  const claimed = told(workers, "claimed");
  expect([claimed.length, new Set(claimed).size]).toEqual([4000, 4000]);
  expect(await store.counts("ada")).toEqual({ succeeded: 4000 });
  expect((await store.get("shared"))?.attempts).toBe(8 * 50);
  for (const { lines } of workers) expect(lines().at(-1)).toBe("done");
});

test("after SIGKILL in the middle of things every acknowledged record is there", { timeout: 120_000 }, async () => {
  const path = join(directory(), "store.sqlite");
  const first = await opened({ path });
  await first.insert(newRecord({ id: "shared", owner: "everyone" }));
  await first.close();
  for (const round of [0, 1, 2, 3, 4]) {
    const workers = [start(path, `a${round}`, 3000), start(path, `b${round}`, 3000)];
    const enough = 300 + 500 * round;
    while (workers.some(({ lines }) => lines().length < enough)) await clock.sleep(5);
    for (const { child } of workers) child.kill("SIGKILL");
    expect(await Promise.all(workers.map(({ over }) => over))).toEqual([null, null]);

    const store = await opened({ path });
    const inserted = told(workers, "inserted");
    const found = await Promise.all(inserted.map((id) => store.get(id)));
    expect(found.filter((record) => record === undefined)).toEqual([]);
    const settled = told(workers, "settled");
    const states = await Promise.all(settled.map(async (id) => (await store.get(id))?.state));
    // Not synced each, but nothing short of a power cut undoes a commit.
    expect(new Set(states)).toEqual(new Set(settled.length > 0 ? ["succeeded"] : []));
    const all = await store.page({ limit: 100_000 });
    const counts = await store.counts();
    expect(Object.values(counts).reduce((a, b) => a + b, 0)).toBe(all.length);
    await store.close();
  }
});
