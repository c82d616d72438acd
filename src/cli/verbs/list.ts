import { Command } from "commander";
import { type OperationRecord, wasApplied } from "../../core/record.js";
import { type FilterOptions, filterOf, wholeNumber, withFilter } from "../operations/options.js";
import { say } from "../operations/output.js";
import { inPlace, type PlaceOptions, withPlace } from "../operations/place.js";
import { standing } from "../operations/story.js";
import { columns, length, safe } from "../operations/text.js";
import { view } from "../operations/view.js";

interface ListOptions extends PlaceOptions, FilterOptions {
  readonly limit: number;
  readonly after?: number;
  readonly all?: true;
  readonly json?: true;
  readonly bodies?: true;
}

/** The longest page: a few hundred records are read without anyone noticing a pause. */
const PAGE = 200;

const heading = ["ID", "STATE", "OPERATION", "INTENT", "OWNER", "AGE", "ATTEMPTS", "APPLIED?"];

/** `samekey list` */
export function listCommand(): Command {
  return withFilter(withPlace(new Command("list")))
    .description("list operations in the order in which they were recorded, a page at a time")
    .option("--limit <n>", "how many, at most", wholeNumber, 50)
    .option("--after <seq>", "go on behind this one, as the last page says", wholeNumber)
    .option("--all", "not a page, but all of them")
    .option("--json", "a line of JSON each, without headers and bodies")
    .option("--bodies", "with --json: headers and bodies too. They may hold what customers wrote")
    .action(act);
}

async function act(options: ListOptions): Promise<void> {
  const now = Date.now();
  await inPlace(options, async ({ store }) => {
    let { after } = options;
    let left = options.all ? Number.POSITIVE_INFINITY : options.limit;
    let isFirst = true;
    for (;;) {
      const limit = Math.min(left, PAGE);
      const records = limit > 0 ? await store.page({ ...filterOf(options), limit, after }) : [];
      if (options.json) for (const record of records) await say(JSON.stringify(view(record, options.bodies === true)));
      else if (records.length > 0) await say(table(records, now, isFirst));
      isFirst = false;
      left -= records.length;
      after = records.at(-1)?.seq ?? after;
      if (records.length < limit) return;
      if (left > 0) continue;
      process.stderr.write(`there may be more: --after ${after}\n`);
      return;
    }
  });
}

function table(records: readonly OperationRecord[], now: number, withHeading: boolean): string {
  const rows = records.map((record) => [
    record.id,
    standing(record),
    record.name,
    record.intent ?? "-",
    record.owner,
    length(now - record.createdAt),
    String(record.attempts),
    wasApplied(record),
  ]);
  return columns([...(withHeading ? [heading] : []), ...rows.map((row) => row.map(safe))]);
}
