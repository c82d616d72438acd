import { once } from "node:events";
import { Command, Option } from "commander";
import type { Duration } from "../../core/durations.js";
import { MisuseError } from "../../errors.js";
import { resolveOptions } from "../../server/options.js";
import { scheduleRetention } from "../../server/retention/schedule.js";
import { type RetentionReport, runRetention } from "../../server/retention.js";
import type { Sessions } from "../../server/sessions/session.js";
import { type DatabaseOptions, onDatabase, withDatabase } from "../database.js";
import { explain } from "../explain.js";

interface RetentionOptions extends DatabaseOptions {
  readonly once?: true;
  readonly every?: Duration;
  readonly json?: true;
  readonly verbose?: true;
}

/** `samekey retention` */
export function retentionCommand(): Command {
  return withDatabase(new Command("retention"))
    .description("make partitions ahead and take away what is past its time; as a role that owns the schema")
    .addOption(new Option("--once", "run once, as from cron").conflicts("every"))
    .option("--every <time>", "stay, and run this often: a second to a day, such as 1h")
    .option("--json", "tell what was done as a line of JSON")
    .action(act);
}

async function act(options: RetentionOptions): Promise<void> {
  const { once: single, every, json, verbose } = options;
  if (!single && every === undefined) {
    throw new MisuseError("bad_option", { detail: "give either --once or --every" });
  }
  const { schema } = resolveOptions({ ...options, retention: "24h" });
  const tell = (report: RetentionReport): void => {
    process.stdout.write(`${json ? JSON.stringify(report) : sentence(report)}\n`);
  };
  await onDatabase(options, async (db) => {
    if (every === undefined) return tell(await runRetention(db, schema));
    await stay(db, schema, every, tell, (error) => {
      process.stderr.write(`${explain(error, verbose)}\n`);
    });
  });
}

/** Runs until a signal says to end. */
async function stay(
  db: Sessions,
  schema: string,
  every: Duration,
  onReport: (report: RetentionReport) => void,
  onError: (error: unknown) => void,
): Promise<void> {
  const stop = scheduleRetention(() => runRetention(db, schema), { every, onReport, onError });
  // The job's own timers keep no process alive.
  const alive = setInterval(() => {}, 60_000);
  await Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]);
  clearInterval(alive);
  await stop();
}

function sentence({ made, dropped, waiting, expired, forgotten }: RetentionReport): string {
  const names = (list: readonly string[]): string => (list.length > 0 ? ` (${list.join(", ")})` : "");
  return [
    `partitions: ${made.length} made${names(made)}`,
    `${dropped.length} dropped${names(dropped)}`,
    `${waiting.length} waiting${names(waiting)}`,
    `opaque keys: ${expired} expired`,
    `${forgotten} forgotten`,
  ].join(", ");
}
