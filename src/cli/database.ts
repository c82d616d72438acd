import type { Command } from "commander";
import type { Pool } from "pg";
import { MisuseError } from "../errors.js";
import { sessionsOf } from "../server/sessions/open.js";
import type { Sessions } from "../server/sessions/session.js";

/** The options of every verb that works on a database. */
export interface DatabaseOptions {
  readonly databaseUrl?: string;
  readonly schema: string;
}

/** Adds them. */
export function withDatabase(command: Command): Command {
  return command
    .option("--database-url <url>", "the database (default: DATABASE_URL, else PGHOST, PGUSER and so on, as for psql)")
    .option("--schema <name>", "the schema that samekey's tables live in", "samekey")
    .option("--verbose", "show where an error comes from");
}

/** The URL, from the option or the environment. A password is safer there than among the arguments, which all can read. */
export const urlOf = ({ databaseUrl }: DatabaseOptions): string | undefined =>
  databaseUrl ?? (process.env["DATABASE_URL"] || undefined);

/** Lends the database to `work`. */
export async function onDatabase<T>(options: DatabaseOptions, work: (db: Sessions) => Promise<T>): Promise<T> {
  const pool = await openPool(urlOf(options));
  try {
    return await work(sessionsOf(pool) as Sessions);
  } finally {
    await pool.end();
  }
}

/**
 * A pool of pg on the database of that URL; without one, where pg itself looks.
 *
 * @throws MisuseError `bad_option`
 */
export async function openPool(url: string | undefined): Promise<Pool> {
  // A path is a socket, for pg.
  if (url !== undefined && !url.startsWith("/") && !URL.canParse(url)) {
    throw new MisuseError("bad_option", {
      detail: "the database's URL (--database-url or DATABASE_URL) cannot be read",
    });
  }
  const { default: pg } = await import("pg").catch((cause: unknown) => {
    if ((cause as { code?: unknown }).code !== "ERR_MODULE_NOT_FOUND") throw cause;
    throw new Error("the package pg is not installed: `npm install pg`, which this command reaches Postgres with", {
      cause,
    });
  });
  const pool = new pg.Pool({
    ...(url === undefined ? {} : { connectionString: url }),
    max: 2,
    connectionTimeoutMillis: 10_000,
    application_name: "samekey",
  });
  // What is cut while idle is opened anew; unheard, it would end the process.
  pool.on("error", () => {});
  return pool;
}
