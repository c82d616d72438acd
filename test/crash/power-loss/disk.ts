import { execFileSync, spawnSync } from "node:child_process";
import {
  closeSync,
  existsSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import type { Random } from "../../../examples/demo/random.js";
import { type Entry, readJournal } from "./journal.js";

type Data = Extract<Entry, { readonly kind: "write" | "truncate" }>;
type Name = Extract<Entry, { readonly kind: "create" | "unlink" }>;

const SECTOR = 512;

/** Builds the library that programs on a disk are run with. Answers with its path. */
export function buildLibrary(source: string, directory: string): string {
  const path = join(directory, "power-loss.so");
  execFileSync("gcc", ["-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror", "-o", path, source]);
  return path;
}

/** Whether that can be done and used here. */
export function canLosePower(): boolean {
  return process.platform === "linux" && spawnSync("gcc", ["--version"]).status === 0;
}

/**
 * A disk of which the power can be cut. Programs run with {@link Disk.env} write to it; what they have not synced when they
 * are killed is lost, or was on its way and got there in part.
 */
export class Disk {
  /** Where the files are. */
  readonly files: string;
  readonly env: Readonly<Record<string, string>>;
  readonly #journals: string;

  /** @param directory - an empty one */
  constructor(directory: string, library: string) {
    this.files = join(directory, "files");
    this.#journals = join(directory, "journals");
    mkdirSync(this.files);
    mkdirSync(this.#journals);
    this.env = { LD_PRELOAD: library, POWER_LOSS_DIR: this.files, POWER_LOSS_JOURNAL: this.#journals };
  }

  /**
   * Once all processes are gone: takes back what was not synced. Some of it may have reached the disk all the same, in any
   * order and torn between sectors, as `random` says; names in the order in which they were made.
   *
   * @returns how many writes were lost, wholly or in part
   */
  cut(random: Random): number {
    const entries = this.#entries();
    const synced = new Map<bigint, bigint>();
    for (const { kind, file, order } of entries) if (kind === "sync") synced.set(file, order);
    const isSafe = (order: bigint, by: bigint): boolean => order < (synced.get(by) ?? -1n);
    const names = entries.filter((one): one is Name => one.kind === "create" || one.kind === "unlink");
    const unsafe = names.filter(({ order, directory }) => !isSafe(order, directory));
    const lost = new Set<Entry>(unsafe.slice(Math.floor(random() ** 2 * (unsafe.length + 1))));
    const data = entries.filter((one): one is Data => one.kind === "write" || one.kind === "truncate");
    const pending = data.filter(({ order, file }) => !isSafe(order, file));
    for (const one of pending) lost.add(one);
    for (const one of entries.toReversed()) if (lost.has(one)) this.#undo(one);
    // Most often nothing of it got there, sometimes all but a little.
    const share = random() < 0.5 ? 0 : random();
    const kept = pending.filter(() => random() < share);
    for (const one of kept) this.#redo(one, random);
    this.#forget(random);
    return pending.length - kept.length;
  }

  #entries(): Entry[] {
    const journals = readdirSync(this.#journals).filter((name) => name.endsWith(".journal"));
    const entries = journals.flatMap((name) => readJournal(join(this.#journals, name)));
    return entries.sort((a, b) => (a.order < b.order ? -1 : 1));
  }

  #undo(entry: Entry): void {
    if (entry.kind === "create") rmSync(entry.path, { recursive: true, force: true });
    // It may have been killed before it came to that.
    if (entry.kind === "unlink" && existsSync(entry.grave)) renameSync(entry.grave, entry.path);
    if (entry.kind === "write") {
      this.#edit(entry.file, (fd) => {
        writeAt(fd, entry.old, entry.offset);
        ftruncateSync(fd, entry.size);
      });
    }
    if (entry.kind === "truncate") {
      this.#edit(entry.file, (fd) => {
        ftruncateSync(fd, entry.size);
        writeAt(fd, entry.cut, entry.to);
      });
    }
  }

  #redo(entry: Data, random: Random): void {
    this.#edit(entry.file, (fd) => {
      if (entry.kind === "truncate") return ftruncateSync(fd, entry.to);
      const isTorn = random() < 0.3;
      for (let at = 0; at < entry.now.length; ) {
        const end = Math.min(at + SECTOR - ((entry.offset + at) % SECTOR), entry.now.length);
        if (!isTorn || random() < 0.5) writeAt(fd, entry.now.subarray(at, end), entry.offset + at);
        at = end;
      }
    });
  }

  /** Nothing, where the file itself is lost. */
  #edit(file: bigint, change: (fd: number) => void): void {
    const path = [this.files, this.#journals].map((top) => find(top, file)).find((found) => found !== undefined);
    if (path === undefined) return;
    const fd = openSync(path, "r+");
    change(fd);
    closeSync(fd);
  }

  /** A machine that starts again knows nothing of what was shared, or finds it as it was left. */
  #forget(random: Random): void {
    for (const name of readdirSync(this.#journals)) rmSync(join(this.#journals, name));
    if (random() < 0.5) return;
    for (const name of readdirSync(this.files, { recursive: true, encoding: "utf8" })) {
      if (name.endsWith("-shm")) rmSync(join(this.files, name));
    }
  }
}

function find(top: string, file: bigint): string | undefined {
  const paths = readdirSync(top, { recursive: true, encoding: "utf8" }).map((name) => join(top, name));
  return paths.find((path) => statSync(path, { bigint: true }).ino === file);
}

function writeAt(fd: number, bytes: Buffer, offset: number): void {
  if (bytes.length > 0) writeSync(fd, bytes, 0, bytes.length, offset);
}
