import { Command } from "commander";
import { isSettled } from "../../core/record.js";
import { decideAll, type Selection } from "../operations/decide.js";
import { perSecond, withFilter } from "../operations/options.js";
import { inPlace, type PlaceOptions, withPlace } from "../operations/place.js";

/** `samekey retry` */
export function retryCommand(): Command {
  return withFilter(withPlace(new Command("retry")))
    .argument("[id...]", "the operations' ids")
    .description(
      "make blocked or unresolved operations due again, under the same key; refused once the server may have forgotten it. " +
        "The running program sends them, or `samekey resume`",
    )
    .option("--all", "all that are blocked or unresolved, and meet what narrows the list")
    .option("--rate <n>", "make so many due a second, at most, such as 5 or 0.5/s", perSecond)
    .option("--dry-run", "print which, and change nothing")
    .action(act);
}

async function act(ids: readonly string[], options: PlaceOptions & Selection): Promise<void> {
  const waiting: Selection = { ...options, state: options.state ?? ["blocked", "unresolved"] };
  await inPlace(options, ({ store, sdk }) =>
    decideAll(
      store,
      ids,
      waiting,
      (record) => record.state !== "pending" && !isSettled(record),
      (id) => sdk.retry(id),
    ),
  );
}
