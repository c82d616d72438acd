import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { access, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { freePort } from "./free-port.js";
import { type Binaries, findBinaries, placeFor } from "./postgres-binaries.js";

/** A running Postgres of our own. */
export interface RunningPostgres {
  readonly url: string;
  /** Ends it; the data go too, unless a directory was named. */
  stop(): Promise<void>;
  /** Ends it as a crash would. Resolves to the way to start it again, with its data and at its address. */
  crash(): Promise<() => Promise<void>>;
}

export interface EmbeddedOptions {
  /**
   * Where the data stay; one directory belongs to one server at a time.
   *
   * @defaultValue a fresh directory for temporary files, removed at the end
   */
  readonly dataDir?: string | undefined;
  /** Whether a commit reaches the disk before it is confirmed. Tests that cut no power can do without. @defaultValue true */
  readonly fsync?: boolean | undefined;
}

/** A Postgres process. */
interface Server {
  readonly port: number;
  /** Resolves when it is gone. */
  end(how: "SIGINT" | "SIGQUIT"): Promise<void>;
}

/** Starts a real Postgres from the binaries on npm: no Docker, and no root. */
export async function startEmbeddedPostgres({ dataDir, fsync = true }: EmbeddedOptions = {}): Promise<RunningPostgres> {
  const binaries = await findBinaries();
  const directory = await placeFor(binaries.user, dataDir ?? (await mkdtemp(join(tmpdir(), "samekey-postgres-"))));
  const forget = async (): Promise<void> => {
    if (dataDir === undefined) await rm(directory, { recursive: true, force: true });
  };
  const begin = async (): Promise<Server> => {
    if (!(await exists(join(directory, "PG_VERSION")))) await initialise(binaries, directory, fsync);
    return start(binaries, directory, fsync, await freePort());
  };
  try {
    let server = (dataDir === undefined ? undefined : await leftRunning(directory)) ?? (await begin());
    const { port } = server;
    return {
      url: urlAt(port),
      stop: async () => {
        await server.end("SIGINT");
        await forget();
      },
      crash: async () => {
        await server.end("SIGQUIT");
        return async () => {
          server = await start(binaries, directory, fsync, port);
        };
      },
    };
  } catch (error) {
    await forget();
    throw error;
  }
}

async function initialise({ initdb, user }: Binaries, directory: string, fsync: boolean): Promise<void> {
  const args = ["--pgdata", directory, "--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C"];
  const child = spawn(initdb, fsync ? args : [...args, "--no-sync"], { ...user, stdio: ["ignore", "ignore", "pipe"] });
  const log = collect(child);
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`initdb ended with ${code}\n${log()}`);
}

async function start({ postgres, user }: Binaries, directory: string, fsync: boolean, port: number): Promise<Server> {
  // Reachable from this machine only, as the data are nobody's secret: a demonstration needs no password.
  const settings = { port, listen_addresses: "127.0.0.1", unix_socket_directories: "", fsync: fsync ? "on" : "off" };
  const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  // In a group of its own: Ctrl-C on the terminal is for the program, which then stops it in order.
  const server = spawn(postgres, ["-D", directory, ...flags], {
    ...user,
    detached: true,
    stdio: ["ignore", "ignore", "pipe"],
  });
  const log = collect(server);
  while (!(await answers(urlAt(port)))) {
    if (server.exitCode !== null) throw new Error(`Postgres did not start\n${log()}`);
    await sleep(20);
  }
  // Where this process ends without stopping it, it must not stay behind.
  const kill = (): boolean => server.kill("SIGQUIT");
  process.on("exit", kill);
  const end = async (how: "SIGINT" | "SIGQUIT"): Promise<void> => {
    process.off("exit", kill);
    if (server.exitCode === null && server.kill(how)) await once(server, "exit");
  };
  return { port, end };
}

/** A server that is killed leaves its Postgres running: the next one in the same directory takes it over. */
async function leftRunning(directory: string): Promise<Server | undefined> {
  const lines = (await readFile(join(directory, "postmaster.pid"), "utf8").catch(() => "")).split("\n");
  const [pid, port] = [Number(lines[0]), Number(lines[3])];
  // The numbers may be someone else's by now: only a Postgres on this directory is meant.
  if (!(pid > 0 && port > 0 && (await answers(urlAt(port), directory)))) return undefined;
  const end = async (how: "SIGINT" | "SIGQUIT"): Promise<void> => {
    process.kill(pid, how);
    while (await exists(join(directory, "postmaster.pid"))) await sleep(20);
  };
  return { port, end };
}

const urlAt = (port: number): string => `postgres://postgres@127.0.0.1:${port}/postgres`;

/** Whether a Postgres answers there, and works in `directory` if one is given. */
async function answers(url: string, directory?: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url });
  try {
    await client.connect();
    const { rows } = await client.query("SHOW data_directory");
    return directory === undefined || rows[0].data_directory === directory;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}

/** The last of what a process says on stderr. */
function collect(child: ChildProcess): () => string {
  let text = "";
  child.stderr?.setEncoding("utf8").on("data", (more: string) => {
    text = (text + more).slice(-5000);
  });
  return () => text;
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
