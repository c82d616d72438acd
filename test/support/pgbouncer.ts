import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants } from "node:fs";
import { chown, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { freePort } from "../../examples/reference-server/free-port.js";
import { findBinaries } from "../../examples/reference-server/postgres-binaries.js";

/**
 * Finds PgBouncer (Debian package `pgbouncer`).
 *
 * @returns undefined where there is none; under `CI` that is an error, so that no test is skipped unseen
 */
export function findPgBouncer(): string | undefined {
  // Debian's place for it is on root's path only.
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin"];
  const found = folders.map((folder) => join(folder, "pgbouncer")).find(isExecutable);
  if (found === undefined && process.env["CI"]) throw new Error("no PgBouncer found: install the package pgbouncer");
  return found;
}

/** A running PgBouncer in transaction mode. */
export interface PgBouncer {
  /** The connection string of the database behind it. */
  readonly url: string;
  stop(): Promise<void>;
}

export interface PgBouncerOptions {
  /** What `findPgBouncer` found. */
  readonly program: string;
  /** The database's connection string. */
  readonly target: string;
  /** Connections to the database, however many there are to PgBouncer. */
  readonly poolSize: number;
}

export async function startPgBouncer({ program, target, poolSize }: PgBouncerOptions): Promise<PgBouncer> {
  // It refuses to run as root, just as Postgres does.
  const { user } = await findBinaries();
  const port = await freePort();
  const directory = await mkdtemp(join(tmpdir(), "samekey-pgbouncer-"));
  const config = join(directory, "pgbouncer.ini");
  await writeFile(config, configOf(program, target, port, poolSize));
  if (user.uid !== undefined && user.gid !== undefined) await chown(directory, user.uid, user.gid);
  const bouncer = spawn(program, [config], { ...user, stdio: ["ignore", "ignore", "pipe"] });
  const exited = once(bouncer, "exit");
  const log = collect(bouncer);
  const kill = (): boolean => bouncer.kill("SIGKILL");
  process.on("exit", kill);
  const stop = async (): Promise<void> => {
    process.off("exit", kill);
    kill();
    await exited;
    await rm(directory, { recursive: true, force: true });
  };

  const url = new URL(target);
  url.host = `127.0.0.1:${port}`;
  while (!(await answers(url.href))) {
    if (bouncer.exitCode !== null) {
      await stop();
      throw new Error(`PgBouncer did not start\n${log()}`);
    }
    await sleep(20);
  }
  return { url: url.href, stop };
}

function configOf(program: string, target: string, port: number, poolSize: number): string {
  const { hostname, port: at, pathname, username, password } = new URL(target);
  const database = decodeURIComponent(pathname.slice(1));
  const connection = { host: hostname, port: at || "5432", dbname: database, user: username, password };
  const settings = {
    listen_addr: "127.0.0.1",
    listen_port: port,
    unix_socket_dir: "",
    auth_type: "any",
    pool_mode: "transaction",
    default_pool_size: poolSize,
    max_client_conn: 200,
    ...(keepsPrepared(program) && { max_prepared_statements: 0 }),
  };
  const pairs = (map: object, separator: string): string =>
    Object.entries(map)
      .filter(([, value]) => value !== "" || separator === "\n")
      .map(([name, value]) => `${name} = ${value}`)
      .join(separator);
  return `[databases]\n${database} = ${pairs(connection, " ")}\n[pgbouncer]\n${pairs(settings, "\n")}\n`;
}

/** From 1.21 on it can keep prepared statements apart; here it is not to, as older ones cannot. */
function keepsPrepared(program: string): boolean {
  const [, major = 0, minor = 0] = /PgBouncer (\d+)\.(\d+)/.exec(execFileSync(program, ["--version"]).toString()) ?? [];
  return Number(major) > 1 || Number(minor) >= 21;
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => {});
  try {
    await client.connect();
    await client.query("SELECT 1");
    return true;
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

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
