import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import process from "node:process";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { type RunningPostgres, startEmbeddedPostgres } from "../reference-server/embedded-postgres.js";

export interface BankOptions {
  /** The server's program. */
  readonly program: string;
  readonly shards: number;
  /** One for each server. */
  readonly ports: readonly number[];
  /** Whether commits reach the disk before they are confirmed. @defaultValue true */
  readonly fsync?: boolean | undefined;
  /** Where the servers send credits to other shards. */
  readonly creditUrl: string;
}

interface Server {
  readonly port: number;
  process: ChildProcess | undefined;
}

/** Reference servers, and a Postgres for each of their shards. Any of them can be taken away in the middle of things. */
export class Bank {
  /** How often a server was killed. */
  kills = 0;
  /** How often a shard was away. */
  outages = 0;
  /** One for each shard. */
  readonly pools: readonly pg.Pool[];
  readonly #options: BankOptions;
  readonly #databases: readonly RunningPostgres[];
  readonly #servers: readonly Server[];
  readonly #token = randomBytes(16).toString("hex");

  private constructor(options: BankOptions, databases: readonly RunningPostgres[]) {
    this.#options = options;
    this.#databases = databases;
    this.#servers = options.ports.map((port) => ({ port, process: undefined }));
    this.pools = databases.map(({ url }) => new pg.Pool({ connectionString: url, max: 1 }));
    for (const pool of this.pools) pool.on("error", () => {});
  }

  /** @param endings - is told how to end what has been started, the latest last */
  static async open(options: BankOptions, endings: (() => unknown)[]): Promise<Bank> {
    const { shards, fsync } = options;
    const starting = Array.from({ length: shards }, () => startEmbeddedPostgres({ fsync }));
    for (const database of starting) {
      endings.push(async () => (await database.catch(() => undefined))?.stop());
    }
    const bank = new Bank(options, await Promise.all(starting));
    endings.push(() => bank.#close());
    await Promise.all(bank.#servers.map((server) => bank.#start(server)));
    return bank;
  }

  /** Kills a server in the middle of whatever it does, and starts another in its place. */
  async restartServer(number = 0): Promise<void> {
    const server = this.#servers[number] as Server;
    this.kills++;
    if (server.process?.kill("SIGKILL")) await once(server.process, "exit");
    await this.#start(server);
  }

  /** Crashes one shard's database. It comes back after so many milliseconds, and after what happens meanwhile. */
  async takeAway(shard: number, ms: number, meanwhile?: () => Promise<void>): Promise<void> {
    this.outages++;
    const startAgain = await this.#databases[shard]?.crash();
    await Promise.all([sleep(ms), meanwhile?.()]);
    await startAgain?.();
  }

  async #start(server: Server): Promise<void> {
    const { program, creditUrl } = this.#options;
    const child = spawn(process.execPath, [program], {
      env: {
        ...process.env,
        PORT: String(server.port),
        DATABASE_URL: this.#databases.map(({ url }) => url).join(),
        SHARDS: "",
        CREDIT_URL: creditUrl,
        CREDIT_TOKEN: this.#token,
      },
      stdio: ["ignore", "pipe", "inherit"],
    });
    server.process = child;
    for await (const line of createInterface(child.stdout)) if (line.startsWith("listening on ")) return;
    throw new Error("a server did not start");
  }

  async #close(): Promise<void> {
    await Promise.all(
      this.#servers.map(async ({ process: child }) => {
        if (child?.exitCode === null && child.signalCode === null && child.kill("SIGTERM")) await once(child, "exit");
      }),
    );
    await Promise.all(this.pools.map((pool) => pool.end()));
  }
}
