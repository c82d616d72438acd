import { Command } from "commander";
import { unknownOperation } from "../../client/checks.js";
import { successorIdOf } from "../../core/key.js";
import { say } from "../operations/output.js";
import { placeWords, type SdkPlaceOptions, withPlace, withSdk } from "../operations/place.js";
import { story } from "../operations/story.js";
import { view } from "../operations/view.js";

interface ShowOptions extends SdkPlaceOptions {
  readonly json?: true;
  readonly bodies?: true;
}

/** `samekey show` */
export function showCommand(): Command {
  return withPlace(new Command("show"))
    .argument("<id>", "the operation's id")
    .description("tell all about one operation: its attempts, what the server said, whether it may have been applied")
    .option("--json", "as a line of JSON")
    .option("--bodies", "headers and bodies too. They may hold what customers wrote")
    .option("--sdk <file>", "the program's Sdk, whose seal opens what is sealed")
    .action(act);
}

async function act(id: string, options: ShowOptions): Promise<void> {
  await withSdk(options, async (sdk) => {
    const record = await sdk.get(id, { owner: "*" });
    if (!record) throw unknownOperation(id);
    const successor = await sdk.get(successorIdOf(id), { owner: "*" });
    const bodies = options.bodies === true;
    await say(
      options.json
        ? JSON.stringify({ ...view(record, bodies), ...(successor && { reissuedAs: successor.id }) })
        : story(record, Date.now(), bodies, placeWords(options), successor),
    );
  });
}
