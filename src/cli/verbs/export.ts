import { Command } from "commander";
import { pages } from "../../client/pages.js";
import { lineOf } from "../operations/lines.js";
import { type FilterOptions, filterOf, withFilter } from "../operations/options.js";
import { Progress, say } from "../operations/output.js";
import { inPlace, type PlaceOptions, withPlace } from "../operations/place.js";

interface ExportOptions extends PlaceOptions, FilterOptions {
  readonly bodies?: true;
}

/** `samekey export` */
export function exportCommand(): Command {
  return withFilter(withPlace(new Command("export")))
    .description("write whole operations as JSON Lines, which `samekey import` reads")
    .requiredOption(
      "--bodies",
      "said to show that it is known: bodies and headers are written too, as customers sent them",
    )
    .action(act);
}

async function act(options: ExportOptions): Promise<void> {
  await inPlace(options, async ({ store }) => {
    const progress = new Progress();
    let written = 0;
    for await (const records of pages(store, { ...filterOf(options), limit: 100 })) {
      for (const record of records) await say(lineOf(record));
      written += records.length;
      progress.tell(`${written} written`);
    }
    progress.end();
    process.stderr.write(`${written} written\n`);
  });
}
