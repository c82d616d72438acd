import { Command } from "commander";
import { isSettled } from "../../core/record.js";
import { decideAll, type Selection } from "../operations/decide.js";
import { withFilter } from "../operations/options.js";
import { inPlace, type PlaceOptions, withPlace } from "../operations/place.js";

interface DiscardOptions extends PlaceOptions, Selection {
  readonly reason: string;
}

/** `samekey discard` */
export function discardCommand(): Command {
  return withFilter(withPlace(new Command("discard")))
    .argument("[id...]", "the operations' ids")
    .description("give operations up; their intents and lanes are free again. Not while an attempt may still arrive")
    .requiredOption("--reason <text>", "why; kept with the record")
    .option("--all", "all that are not settled, and meet what narrows the list")
    .option("--dry-run", "print which, and change nothing")
    .action(act);
}

async function act(ids: readonly string[], options: DiscardOptions): Promise<void> {
  await inPlace(options, ({ store, sdk }) =>
    decideAll(
      store,
      ids,
      options,
      (record) => !isSettled(record),
      (id) => sdk.discard(id, { reason: options.reason }),
    ),
  );
}
