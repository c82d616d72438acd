import { Command } from "commander";
import { Exit } from "../exit.js";
import { type Fault, faultsOf, faultsOfFile, faultsOfSeal } from "../operations/integrity.js";
import { Progress, say } from "../operations/output.js";
import { inPlace, loadSdk, type SdkPlaceOptions, withPlace } from "../operations/place.js";

interface VerifyOptions extends SdkPlaceOptions {
  readonly json?: true;
}

/** `samekey verify` */
export function verifyCommand(): Command {
  return withPlace(new Command("verify"))
    .description(
      "check the file, every record, and what is counted; changes nothing. Ends with 1 where something is wrong",
    )
    .option("--json", "a line of JSON for each fault")
    .option("--sdk <file>", "the program's Sdk: check too that its seal opens what is sealed")
    .action(act);
}

async function act(options: VerifyOptions): Promise<void> {
  const progress = new Progress();
  await inPlace(options, async ({ store, file }) => {
    let faults = 0;
    let seen = 0;
    const tell = async (fault: Fault): Promise<void> => {
      faults += 1;
      progress.end();
      await say(options.json ? JSON.stringify(fault) : `${fault.id ?? "store"}: ${fault.what}`);
    };
    if (file !== undefined) for await (const fault of faultsOfFile(file)) await tell(fault);
    const onStep = (so: number): void => {
      seen = so;
      progress.tell(`${seen} records checked`);
    };
    for await (const fault of faultsOf(store, onStep)) await tell(fault);
    if (options.sdk !== undefined) {
      const sdk = await loadSdk(options.sdk);
      try {
        for await (const fault of faultsOfSeal(sdk)) await tell(fault);
      } finally {
        await sdk.close();
      }
    }
    progress.end();
    process.stderr.write(
      `${seen} ${seen === 1 ? "record" : "records"} checked, ${faults === 0 ? "nothing" : faults} wrong\n`,
    );
    if (faults > 0) throw new Exit(1);
  });
}
