import { Argument, Command } from "commander";
import { MisuseError } from "../../errors.js";
import { Exit } from "../exit.js";
import { say } from "../operations/output.js";
import { inPlace, type PlaceOptions, withPlace } from "../operations/place.js";
import { heading } from "../operations/story.js";

/** `samekey reconcile` */
export function reconcileCommand(): Command {
  return withPlace(new Command("reconcile"))
    .argument("<id>", "the operation's id")
    .addArgument(new Argument("<outcome>", "what was found out").choices(["applied", "not-applied"]))
    .description("record what someone found out about an operation of unknown outcome")
    .action(act);
}

async function act(id: string, outcome: "applied" | "not-applied", options: PlaceOptions): Promise<void> {
  await inPlace(options, async ({ sdk }) => {
    try {
      await say(heading(await sdk.reconcile(id, outcome)));
    } catch (error) {
      // The command was right; what was found out is not.
      if (!(error instanceof MisuseError && error.code === "already_settled")) throw error;
      process.stderr.write(`${error.message}\n`);
      throw new Exit(1);
    }
  });
}
