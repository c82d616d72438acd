import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { seeded } from "../../examples/demo/random.js";
import { type Bundle, bundle } from "../support/bundle.js";
import { live } from "./matrix/life.js";
import { runRandom } from "./matrix/run-random.js";
import { startServer } from "./matrix/server.js";
import { buildLibrary, canLosePower, Disk } from "./power-loss/disk.js";
import { readRecords } from "./power-loss/stands.js";

const isPossible = canLosePower();
if (!isPossible && process.env["CI"]) throw new Error("power cannot be lost here: that takes Linux and gcc");
if (!isPossible) console.warn("power is not lost here: that takes Linux and gcc");

let home: string;
let library: string;
const directories: string[] = [];

function newDisk(): Disk {
  const directory = mkdtempSync(join(tmpdir(), "samekey-disk-"));
  directories.push(directory);
  return new Disk(directory, library);
}

beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), "samekey-library-"));
  const source = fileURLToPath(new URL("power-loss/power-loss.c", import.meta.url));
  if (isPossible) library = buildLibrary(source, home);
});
afterAll(() => rmSync(home, { recursive: true, force: true }));
afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
});

/** No write reaches a disk that is told to keep nothing. */
const nothing = () => 0;

describe.runIf(isPossible)("a disk whose power is cut", () => {
  /** Runs a piece of a program on the disk and kills it. */
  function run(disk: Disk, program: string): void {
    const script = `const fs = require("node:fs"); process.chdir(${JSON.stringify(disk.files)});
      const at = (name) => process.cwd() + "/" + name;
      const syncDirectory = (name) => { const fd = fs.openSync(at(name)); fs.fsyncSync(fd); fs.closeSync(fd); };
      ${program}; process.kill(process.pid, "SIGKILL");`;
    const { signal, stderr } = spawnSync(process.execPath, ["-e", script], { env: { ...process.env, ...disk.env } });
    expect(`${signal} ${stderr}`).toBe("SIGKILL ");
  }

  const text = (disk: Disk, name: string) => readFileSync(join(disk.files, name), "utf8");

  it("keeps what was synced and no more", () => {
    const disk = newDisk();
    run(
      disk,
      `const fd = fs.openSync(at("a"), "w+"); syncDirectory("");
       fs.writeSync(fd, "one two", 0); fs.fdatasyncSync(fd); fs.writeSync(fd, "ONE", 0); fs.writeSync(fd, " three", 7)`,
    );
    expect(text(disk, "a")).toBe("ONE two three");
    expect(disk.cut(nothing)).toBe(2);
    expect(text(disk, "a")).toBe("one two");
  });

  it("loses a cut and a growth that were not synced", () => {
    const disk = newDisk();
    run(
      disk,
      `const fd = fs.openSync(at("a"), "w+"); syncDirectory("");
       fs.writeSync(fd, "one two", 0); fs.fsyncSync(fd); fs.ftruncateSync(fd, 3); fs.writeSync(fd, "?", 9)`,
    );
    disk.cut(nothing);
    expect(text(disk, "a")).toBe("one two");
  });

  it("loses names that were made or taken away since their directory was synced, whatever is in them", () => {
    const disk = newDisk();
    run(
      disk,
      `fs.closeSync(fs.openSync(at("old"), "wx")); syncDirectory("");
       const fd = fs.openSync(at("new"), "w+"); fs.writeSync(fd, "x"); fs.fsyncSync(fd);
       fs.mkdirSync(at("d")); fs.closeSync(fs.openSync(at("d/new"), "wx")); syncDirectory("d"); fs.unlinkSync(at("old"))`,
    );
    expect(existsSync(join(disk.files, "old"))).toBe(false);
    disk.cut(nothing);
    expect(["old", "new", "d"].map((name) => existsSync(join(disk.files, name)))).toEqual([true, false, false]);
  });

  it("may have kept any part of what was on its way", () => {
    const found = new Set<string>();
    for (let seed = 0; seed < 40; seed++) {
      const disk = newDisk();
      run(
        disk,
        `const fd = fs.openSync(at("a"), "w+"); fs.writeSync(fd, "..", 0); fs.fsyncSync(fd); syncDirectory("");
         fs.writeSync(fd, "1", 0); fs.writeSync(fd, "2", 1)`,
      );
      disk.cut(seeded(seed));
      found.add(text(disk, "a"));
      if (found.size === 4) break;
    }
    expect([...found].sort()).toEqual(["..", ".2", "1.", "12"]);
  });

  it("ends a program that does what it cannot follow", () => {
    const disk = newDisk();
    mkdirSync(join(disk.files, "d"));
    const program = `require("node:fs").renameSync("${disk.files}/d", "${disk.files}/e")`;
    const { signal, stderr } = spawnSync(process.execPath, ["-e", program], { env: { ...process.env, ...disk.env } });
    expect(signal).toBe("SIGABRT");
    expect(String(stderr)).toContain("power-loss: rename is not modelled");
  });
});

describe.runIf(isPossible)("when the power fails", () => {
  let worker: Bundle;
  beforeAll(async () => {
    worker = await bundle(new URL("matrix/worker.ts", import.meta.url));
  });
  afterAll(() => worker?.remove());

  const lose = (seed: number, trials: number, synced?: "normal" | "off") =>
    runRandom({
      program: { node: process.execPath, path: worker.path },
      ...{ store: "better-sqlite3", processes: 2, disk: newDisk(), trials, seed, synced },
    });

  it("the directory that was made for the file, the file and the record are there, once they were told of", async () => {
    const disk = newDisk();
    const server = await startServer();
    const path = join(disk.files, "a/b/orders.sqlite");
    const clock = { from: 0, speed: 1 };
    const order = { order: "1", kind: "plain", saved: true } as const;
    const settings = { url: server.url, path, store: "better-sqlite3", clock, prunes: false } as const;
    const work = { recovery: "ask again", left: [], orders: [order], again: [] } as const;
    const end = { point: "send:before", hit: 1 } as const;
    const program = { node: process.execPath, path: worker.path, env: disk.env };
    const { killed, told } = await live(program, { ...settings, ...work, end }).ended;
    await server.close();
    disk.cut(nothing);
    const [record] = readRecords(path).values();
    expect(killed).toBe(true);
    expect(told).toContainEqual({ what: "saved", order: "1", key: record?.key });
    expect(record).toMatchObject({ state: "pending", intent: "1", mark: { attempt: 1 } });
  });

  it("everything that was told or sent stands in the file, and is finished once", async () => {
    const { faults } = await lose(1, 12);
    expect(faults).toEqual([]);
  });

  it.each(["normal", "off"] as const)("that is seen to fail where commits are synced as %s", async (synced) => {
    const { faults } = await lose(1, 40, synced);
    expect(faults[0]).toMatch(/^lost with the power: /);
  });
});
