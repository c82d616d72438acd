import pg from "pg";
import { v7 } from "uuid";
import { expect, vi } from "vitest";
import { type Bundle, bundle } from "../support/bundle.js";
import { type Child, startChild } from "../support/child.js";
import { type PgProxy, startPgProxy } from "../support/pg-proxy.js";
import { type RestartMode, startRestartablePostgres } from "../support/restartable-postgres.js";
import { type Answer, type AskOptions, ask, honest } from "./server-ask.js";
import type { GoOn, Point, ServerOptions, ServerTold } from "./server-told.js";

/** How long something may take that comes by itself, ms. Far below the minute after which a handler is given up. */
const patience = 20_000;

/** One server process on the bank's database. */
export interface BankServer {
  readonly url: string;
  readonly child: Child<ServerTold>;
  /** One request, whatever comes of it. */
  ask(key: string, options?: AskOptions): Promise<Answer>;
  /** Resolves once the request with this key stands still there. */
  stands(key: string, point: Point): Promise<void>;
  /** Lets everything go on that stands still. */
  goOn(): void;
  /** How often the handler ran for this key. */
  runs(key: string): number;
  /** SIGSTOP, SIGCONT. */
  pause(): void;
  resume(): void;
  crash(): Promise<void>;
}

/** A Postgres with accounts and a ledger, behind a proxy that can fail, and servers on it. */
export interface Bank {
  readonly proxy: PgProxy;
  serve(options?: Partial<ServerOptions>): Promise<BankServer>;
  /** Asks the database itself, past the proxy. */
  query(sql: string, values?: unknown[]): Promise<pg.QueryResult["rows"]>;
  restart(mode: RestartMode): Promise<void>;
  /** Ends every session of the servers. */
  terminate(): Promise<void>;
  /**
   * Asks until the key is neither in progress nor the database away, as a client does.
   *
   * @returns the first answer that stands
   */
  settle(server: BankServer, key: string, options?: AskOptions): Promise<Answer>;
  /** How often money moved under this key. */
  effects(key: string): Promise<number>;
  /** Nobody holds a lock or a transaction any more, no money was made or lost, and no key counts twice. */
  expectSound(): Promise<void>;
  /** Ends all servers that were started since the last call. */
  clear(): Promise<void>;
  stop(): Promise<void>;
}

// What docs/server.md recommends: a backend that works on for nobody ends, and lets the key go.
const schema = `
ALTER DATABASE postgres SET client_connection_check_interval = '100ms';
ALTER DATABASE postgres SET deadlock_timeout = '50ms';
CREATE TABLE accounts (id int PRIMARY KEY, balance bigint NOT NULL);
INSERT INTO accounts SELECT id, 1000 FROM generate_series(1, 20) AS id;
CREATE TABLE ledger (key text NOT NULL, amount bigint NOT NULL);
CREATE TABLE cases (id int, state text) PARTITION BY LIST (state);
CREATE TABLE cases_open PARTITION OF cases FOR VALUES IN ('open');
CREATE TABLE cases_filed PARTITION OF cases FOR VALUES IN ('filed');
INSERT INTO cases VALUES (1, 'open');
`;

export async function startBank(): Promise<Bank> {
  const program: Bundle = await bundle(new URL("server-program.ts", import.meta.url));
  const postgres = await startRestartablePostgres();
  const proxy = await startPgProxy(() => postgres.url);
  const servers = new Set<BankServer>();

  async function query(sql: string, values?: unknown[]): Promise<pg.QueryResult["rows"]> {
    const client = new pg.Client({ connectionString: postgres.url });
    client.on("error", () => {});
    await client.connect();
    try {
      return (await client.query(sql, values)).rows;
    } finally {
      await client.end();
    }
  }
  await query(schema);

  async function serve(options: Partial<ServerOptions> = {}): Promise<BankServer> {
    const child = startChild<ServerTold>(program.path, {
      args: [JSON.stringify({ databaseUrl: proxy.url, ...options } satisfies ServerOptions)],
    });
    const { url } = await child.told((told) => told.what === "listening");
    const server: BankServer = {
      url,
      child,
      ask: (key, asked) => ask(url, key, asked),
      stands: async (key, point) => {
        await child.told((told) => told.what === "at" && told.key === key && told.point === point);
      },
      goOn: () => void child.process.send("go on" satisfies GoOn),
      runs: (key) => child.messages.filter((told) => told.what === "ran" && told.key === key).length,
      pause: () => void child.process.kill("SIGSTOP"),
      resume: () => void child.process.kill("SIGCONT"),
      crash: () => child.crash(),
    };
    servers.add(server);
    return server;
  }

  const effects = async (key: string): Promise<number> =>
    (await query("SELECT count(*)::int AS n FROM ledger WHERE key = $1", [key]))[0].n;

  return {
    proxy,
    serve,
    query,
    effects,
    restart: (mode) => postgres.restart(mode),
    terminate: async () => {
      await query(
        `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
          WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`,
      );
    },
    settle: (server, key, options) =>
      vi.waitUntil(
        async () => {
          const answer = await server.ask(key, options);
          honest(answer);
          return answer.mark !== undefined && answer;
        },
        { timeout: patience, interval: 20 },
      ),
    expectSound: async () => {
      await expect
        .poll(
          async () => {
            const [row] = await query(
              `SELECT (SELECT count(*)::int FROM pg_locks WHERE locktype = 'advisory') AS locks,
                      (SELECT count(*)::int FROM pg_stat_activity WHERE state LIKE 'idle in transaction%') AS open`,
            );
            return row;
          },
          { timeout: patience },
        )
        .toEqual({ locks: 0, open: 0 });
      const [sums] = await query("SELECT sum(balance)::int AS money FROM accounts");
      expect(sums).toEqual({ money: 20_000 });
      expect(await query("SELECT key FROM ledger GROUP BY key HAVING count(*) > 1")).toEqual([]);
      // What is recorded was done, and what was done is recorded.
      const [odd] = await query(
        `SELECT count(*)::int AS n FROM ledger l FULL JOIN samekey.keys k
             ON k.key = CASE WHEN l.key LIKE '________-____-7%' THEN '7' || replace(l.key, '-', '') ELSE 'o' || l.key END
          WHERE l.key IS NULL OR k.key IS NULL`,
      );
      expect(odd).toEqual({ n: 0 });
    },
    clear: async () => {
      await Promise.all([...servers].map((server) => server.crash()));
      servers.clear();
    },
    stop: async () => {
      await Promise.all([...servers].map((server) => server.crash()));
      await proxy.close();
      await postgres.stop();
      program.remove();
    },
  };
}

/** A new key. */
export const newKey = (): string => v7();
