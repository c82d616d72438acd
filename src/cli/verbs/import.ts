import { createReadStream, existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { Command } from "commander";
import { bad } from "../../core/checks.js";
import type { NewRecord } from "../../core/record.js";
import type { Inserted } from "../../store.js";
import { Exit } from "../exit.js";
import { recordOfLine } from "../operations/lines.js";
import { Progress } from "../operations/output.js";
import { inPlace, type Place, type PlaceOptions, withPlace } from "../operations/place.js";

/** So many at once share a transaction. */
const BATCH = 100;

/** `samekey import` */
export function importCommand(): Command {
  return withPlace(new Command("import"))
    .argument("<file>", "JSON Lines as `samekey export` writes them; - for standard input")
    .description(
      "record operations that were exported elsewhere. Whatever may still be sent counts as having been sent, since the " +
        "store that it comes from may have gone on: it is sent again under its key only, and never once that is too old",
    )
    .option(
      "--moved",
      "nothing uses the store that they come from any more. Without it those are refused that were not sent yet: there they " +
        "may get another key",
    )
    .action(act);
}

interface ImportOptions extends PlaceOptions {
  readonly moved?: true;
}

interface Tally {
  recorded: number;
  there: number;
  refused: number;
}

async function act(file: string, options: ImportOptions): Promise<void> {
  const tally: Tally = { recorded: 0, there: 0, refused: 0 };
  const progress = new Progress();
  const take = async ({ store }: Place): Promise<void> => {
    let batch: Promise<void>[] = [];
    let number = 0;
    const input = file === "-" ? process.stdin : createReadStream(file);
    for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      number += 1;
      if (line.trim() === "") continue;
      const record = read(line, number, options.moved === true, tally);
      if (record) batch.push(store.insert(record).then((inserted) => count(record, inserted, number, tally)));
      if (batch.length < BATCH) continue;
      await Promise.all(batch);
      batch = [];
      progress.tell(`${tally.recorded} recorded`);
    }
    await Promise.all(batch);
  };
  // Before the store is made.
  if (file !== "-" && !existsSync(file)) bad(`there is no file ${file}`);
  await inPlace(options, take, true);
  progress.end();
  process.stdout.write(`${tally.recorded} recorded, ${tally.there} were there already, ${tally.refused} refused\n`);
  if (tally.refused > 0) throw new Exit(1);
}

function read(line: string, number: number, moved: boolean, tally: Tally): NewRecord | undefined {
  try {
    return recordOfLine(line, moved);
  } catch (error) {
    refuse(number, (error as Error).message, tally);
    return undefined;
  }
}

function count(given: NewRecord, { record, joined }: Inserted, number: number, tally: Tally): void {
  if (joined === undefined) tally.recorded += 1;
  else if (record.id === given.id) tally.there += 1;
  else refuse(number, `its ${joined} is held by another operation, ${record.id}`, tally);
}

function refuse(number: number, why: string, tally: Tally): void {
  tally.refused += 1;
  process.stderr.write(`line ${number} is not recorded: ${why}\n`);
}
