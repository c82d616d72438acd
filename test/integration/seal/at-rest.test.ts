import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { node24 } from "../../../scripts/node24.mjs";
import { type Bundle, bundle } from "../../support/bundle.js";
import { type Child, startChild } from "../../support/child.js";
import { type Loopback, serve } from "../../support/loopback.js";
import type { Task, Told } from "./program.js";

/** In the request, in the answer's body, and in a header of the answer that is kept. */
const sentinels = ["SENTINEL-IBAN", "SENTINEL-ANSWER", "SENTINEL-HEADER"] as const;
const body = { iban: "SENTINEL-IBAN", text: "café 💶 \u0000", amount: 1.1e-7 };

let program: Bundle;
let server: Loopback;
let folder: string;
/** Bodies as they came, and whether the next one is answered. */
const arrived: Buffer[] = [];
let answers = true;
const children: Child<Told>[] = [];

beforeAll(async () => {
  program = await bundle(new URL("program.ts", import.meta.url));
  server = await serve(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    arrived.push(Buffer.concat(chunks));
    if (!answers) return;
    response.setHeader("location", "/transfers/SENTINEL-HEADER");
    response.writeHead(201, { "content-type": "application/json" }).end('{"told":"SENTINEL-ANSWER"}');
  });
});
afterAll(async () => {
  await server?.close();
  program?.remove();
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "samekey-sealed-"));
  arrived.length = 0;
  answers = true;
});
afterEach(async () => {
  await Promise.all(children.splice(0).map((child) => child.crash()));
  rmSync(folder, { recursive: true, force: true });
});

/** Which of the words stand in the files of the store: the database, its write-ahead log and all else there is. */
function found(): string[] {
  const files = readdirSync(folder).map((name) => readFileSync(join(folder, name)));
  expect(files.length, "the store has files").toBeGreaterThan(0);
  return sentinels.filter((word) => files.some((file) => file.includes(word)));
}

describe.each(["better-sqlite3", "node:sqlite"] as const)("SQLite through %s", (driver) => {
  const isHere = driver === "better-sqlite3" || node24() !== undefined;
  if (!isHere) console.warn(`sealing through ${driver} is left out: no Node 24 for this machine`);

  const run = (task: Partial<Task>): Child<Told> => {
    const whole: Task = { baseUrl: server.url, path: join(folder, "store.sqlite"), driver, keys: [], ...task };
    const node = driver === "node:sqlite" ? node24() : process.execPath;
    const child = startChild<Told>(program.path, { args: [JSON.stringify(whole)], execPath: node });
    children.push(child);
    return child;
  };
  const settled = (message: Told): boolean => message.what === "settled";

  test.runIf(isHere)("nothing of what customers and servers wrote is in its files, whenever one looks", async () => {
    answers = false;
    const first = run({ keys: ["a"], body });
    await expect.poll(() => arrived.length, { timeout: 30_000 }).toBe(1);
    expect(found(), "while it is in flight").toEqual([]);
    await first.crash();
    expect(found(), "after a crash").toEqual([]);
    answers = true;
    const second = run({ keys: ["a"] });
    await second.told(settled);
    expect(found(), "once it is settled").toEqual([]);
    await second.crash();
    expect(found(), "after another crash").toEqual([]);
  });

  test.runIf(isHere)("without a seal all of it is: the scan can find it", async () => {
    const child = run({ body });
    await child.told(settled);
    expect(found()).toEqual([...sentinels]);
  });

  test.runIf(isHere)(
    "killed in flight, the next process sends the same bytes; without the key it sends nothing",
    async () => {
      answers = false;
      const first = run({ keys: ["a"], body });
      await expect.poll(() => arrived.length, { timeout: 30_000 }).toBe(1);
      await first.crash();
      const without = run({ keys: ["b"] });
      const { error } = await without.told(({ what }) => what === "blocked");
      expect(error).toContain('its body is sealed under key "a", which `seal` does not have here');
      await without.crash();
      expect(arrived).toHaveLength(1);
      answers = true;
      const rotated = run({ keys: ["b", "a"] });
      expect((await rotated.told(settled)).data).toEqual({ told: "SENTINEL-ANSWER" });
      expect(arrived).toHaveLength(2);
      expect(arrived[1]?.equals(arrived[0] as Buffer)).toBe(true);
      expect(arrived[1]?.toString()).toBe(JSON.stringify(body));
    },
  );
});
