import { Command } from "commander";
import { prune } from "../../client/janitor.js";
import { type Duration, toMs } from "../../core/durations.js";
import { digest } from "../../platform/node.js";
import { realClock } from "../../platform/real-clock.js";
import { Progress, say } from "../operations/output.js";
import { inPlace, type PlaceOptions, withPlace } from "../operations/place.js";

interface PruneOptions extends PlaceOptions {
  readonly keepFor: Duration;
  readonly rememberIntents: Duration;
}

/** `samekey prune` */
export function pruneCommand(): Command {
  return withPlace(new Command("prune"))
    .description(
      "drop settled operations that are past their keep time, as running programs do by themselves: bodies and answers first, " +
        "the memory of an intent later. What is pending, blocked, unresolved or not yet delivered stays",
    )
    .option("--keep-for <time>", "how long a settled operation is kept; as the program has it", "30d")
    .option("--remember-intents <time>", "how long its intent is remembered after that", "1y")
    .action(act);
}

async function act(options: PruneOptions): Promise<void> {
  const times = {
    keepFor: toMs(options.keepFor, "--keep-for"),
    rememberIntents: toMs(options.rememberIntents, "--remember-intents"),
  };
  await inPlace(options, async ({ store }) => {
    const progress = new Progress();
    const journal = { open: async () => store, update: store.update.bind(store) };
    const parts = { journal, options: { ...times, clock: realClock }, platform: { digest } };
    const pruned = await prune(parts, (so) => progress.tell(`${so} pruned`));
    progress.end();
    await say(`${pruned} pruned`);
  });
}
