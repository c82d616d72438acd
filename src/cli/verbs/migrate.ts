import { Command } from "commander";
import type { Duration } from "../../core/durations.js";
import { migrate, migrationScript } from "../../server/migrate.js";
import { resolveOptions } from "../../server/options.js";
import { withSession } from "../../server/use-session.js";
import { type DatabaseOptions, onDatabase, urlOf, withDatabase } from "../database.js";

interface MigrateOptions extends DatabaseOptions {
  readonly retention: Duration;
  readonly print?: true;
}

/** `samekey migrate` */
export function migrateCommand(): Command {
  return withDatabase(new Command("migrate"))
    .description("create the server half's schema, or bring it up to date; any number may run at once")
    .requiredOption("--retention <time>", "how long keys are honoured, such as 24h or 30d; as the servers have it")
    .option("--print", "print the SQL and change nothing: what the database lacks, or all of it where none is named")
    .action(act);
}

async function act(options: MigrateOptions): Promise<void> {
  const { schema, window } = resolveOptions(options);
  if (!options.print) {
    await onDatabase(options, (db) => migrate(db, schema, window));
    process.stdout.write(`schema ${JSON.stringify(schema)} is up to date; keys are kept for ${options.retention}\n`);
    return;
  }
  const script =
    urlOf(options) === undefined && !process.env["PGHOST"]
      ? await migrationScript(undefined, schema, window)
      : await onDatabase(options, (db) => withSession(db, (session) => migrationScript(session, schema, window)));
  process.stdout.write(script || "-- nothing is missing\n");
}
