import { Command } from "commander";
import { unknownOperation } from "../../client/checks.js";
import type { OperationRecord } from "../../core/record.js";
import type { Sdk } from "../../index.node.js";
import { Exit } from "../exit.js";
import { say } from "../operations/output.js";
import { type SdkPlaceOptions, withPlace, withSdk } from "../operations/place.js";
import { heading } from "../operations/story.js";

interface ReissueOptions extends SdkPlaceOptions {
  readonly afterReconciling: string;
}

/** `samekey reissue` */
export function reissueCommand(): Command {
  return withPlace(new Command("reissue"))
    .argument("<id>", "the id of the operation that was given up")
    .description(
      "record a new operation, under a new key, in the place of one that is known not to have been applied. Refused while the " +
        "server remembers the old key: `samekey retry` asks it again under that one",
    )
    .requiredOption("--after-reconciling <text>", "what was found out, and how; kept with the old operation")
    .option("--sdk <file>", "the program's Sdk, to send the new one at once; else the running program does")
    .action(act);
}

async function act(id: string, options: ReissueOptions): Promise<void> {
  const { afterReconciling } = options;
  await withSdk(options, async (sdk) => {
    const record = await sdk.reissue(id, { afterReconciling });
    await say(`${id} is given up: ${record.id} takes its place`);
    if (options.sdk !== undefined) await drive(sdk, record);
  });
}

async function drive(sdk: Sdk, { id, owner }: OperationRecord): Promise<void> {
  await sdk.resume({ owner });
  const after = await sdk.get(id, { owner: "*" });
  if (!after) throw unknownOperation(id);
  await say(heading(after));
  if (after.state !== "succeeded") throw new Exit(1);
}
