import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { seeded } from "../../examples/demo/random.js";
import { Fleet } from "./fleet.js";
import type { Saw, ServerTold } from "./protocol.js";
import { type Course, Watch } from "./watch.js";

export interface SoakOptions {
  /** The bundled programs. */
  readonly programs: { readonly worker: string; readonly server: string };
  readonly operations: number;
  readonly processes: number;
  readonly seed: number;
  readonly onProgress?: ((settled: number, kills: number) => void) | undefined;
  /** How it is stopped before its time. */
  readonly signal: AbortSignal;
}

export interface SoakReport {
  readonly operations: number;
  readonly processes: number;
  readonly seconds: number;
  readonly saw: Saw;
  readonly fleet: Fleet;
  /** In bytes; absent where a run was too short to see one. */
  readonly courses: Readonly<Record<"db" | "wal" | "rss" | "heap", Course | undefined>>;
  /** The most that any worker held, in bytes. */
  readonly mostRss: number;
}

/** Many operations through several processes on one file, with faults throughout. Judges nothing. */
export async function soak(options: SoakOptions): Promise<SoakReport> {
  const { programs, operations, processes, seed, onProgress, signal } = options;
  const directory = await mkdtemp(join(tmpdir(), "samekey-soak-"));
  const path = join(directory, "soak.sqlite");
  const server = fork(programs.server, [operations, seed].map(String));
  const told = async (): Promise<ServerTold> => (await once(server, "message", { signal }))[0];
  const startedAt = performance.now();
  let watch: Watch | undefined;
  try {
    const listening = await told();
    if (listening.what !== "listening") throw new Error("the server did not start");
    const fleet: Fleet = new Fleet({
      program: programs.worker,
      args: [listening.url, path],
      operations,
      processes,
      random: seeded(seed + 1),
      onProgress: (settled) => onProgress?.(settled, fleet.kills),
      onMemory: (memory) => watch?.onMemory(memory),
      signal,
    });
    watch = new Watch(path, () => fleet.settled / operations);
    await fleet.run();
    const seconds = (performance.now() - startedAt) / 1_000;
    server.send("what did you see?");
    const saw = await told();
    if (saw.what !== "saw") throw new Error("the server does not answer");
    const [db, wal, rss, heap] = (["db", "wal", "rss", "heap"] as const).map((name) => watch?.course(name));
    const { mostRss } = watch;
    return { operations, processes, seconds, saw, fleet, courses: { db, wal, rss, heap }, mostRss };
  } finally {
    watch?.stop();
    server.kill("SIGKILL");
    await rm(directory, { recursive: true, force: true });
  }
}
