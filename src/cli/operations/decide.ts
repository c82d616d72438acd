import { setTimeout } from "node:timers/promises";
import { pages } from "../../client/pages.js";
import { bad } from "../../core/checks.js";
import type { OperationRecord } from "../../core/record.js";
import { SamekeyError } from "../../errors.js";
import type { Store } from "../../store.js";
import { Exit } from "../exit.js";
import { type FilterOptions, filterOf } from "./options.js";
import { Progress, say } from "./output.js";
import { heading } from "./story.js";

/** Which operations a decision is about: named ones, or all that a filter meets. */
export interface Selection extends FilterOptions {
  readonly all?: true;
  /** So many a second, at most. */
  readonly rate?: number;
  readonly dryRun?: true;
}

/**
 * Puts one decision to many operations, and tells of each what became of it. One that cannot be is no reason to leave the
 * rest alone, but for the exit code.
 *
 * @throws MisuseError `bad_option` when it is not clear which; Exit with 1 when some could not be
 */
export async function decideAll(
  store: Store,
  ids: readonly string[],
  selection: Selection,
  isMeant: (record: OperationRecord) => boolean,
  decide: (id: string) => Promise<OperationRecord>,
): Promise<void> {
  if (ids.length > 0 === (selection.all === true)) {
    bad("name operations by their ids, or give --all (and what narrows it)");
  }
  const progress = new Progress();
  let done = 0;
  let failed = 0;
  for await (const id of ids.length > 0 ? ids : meant(store, selection, isMeant)) {
    if (selection.dryRun) {
      await say(id);
      continue;
    }
    try {
      const record = await decide(id);
      done += 1;
      await say(heading(record));
    } catch (error) {
      // The database's fault is everyone's.
      if (!(error instanceof SamekeyError) || error.code === "unavailable") throw error;
      failed += 1;
      process.stderr.write(`${id}: ${error.message}\n`);
    }
    progress.tell(`${done} done, ${failed} not`);
    if (selection.rate !== undefined) await setTimeout(1000 / selection.rate);
  }
  progress.end();
  if (selection.dryRun) return;
  process.stderr.write(`${done} done${failed > 0 ? `, ${failed} left as they were` : ""}\n`);
  if (failed > 0) throw new Exit(1);
}

/** A page at a time: what is decided no longer meets the filter, so the next page begins behind the last one. */
async function* meant(
  store: Store,
  selection: Selection,
  isMeant: (record: OperationRecord) => boolean,
): AsyncGenerator<string> {
  for await (const records of pages(store, { ...filterOf(selection), limit: 100 })) {
    for (const record of records) if (isMeant(record)) yield record.id;
  }
}
