import { Command } from "commander";
import { OPEN_STATES, STATES, type State } from "../../core/record.js";
import type { Counts, Store } from "../../store.js";
import { say } from "../operations/output.js";
import { inPlace, type PlaceOptions, withPlace } from "../operations/place.js";
import { columns, length } from "../operations/text.js";

interface StatsOptions extends PlaceOptions {
  readonly owner?: string;
  readonly json?: true;
}

/** What stands in one state. */
interface Row {
  readonly count: number;
  /** When the one that was recorded first was, in milliseconds since the epoch. */
  readonly oldest?: number;
}

/** `samekey stats` */
export function statsCommand(): Command {
  return withPlace(new Command("stats"))
    .description(
      "how many operations stand in each state, and since when the oldest that still needs work was recorded",
    )
    .option("--owner <id>", "whose (default: everyone's)")
    .option("--json", "as a line of JSON")
    .action(act);
}

async function act(options: StatsOptions): Promise<void> {
  await inPlace(options, async ({ store }) => {
    const rows = await rowsOf(store, await store.counts(options.owner), options.owner);
    if (options.json) return say(JSON.stringify(Object.fromEntries(rows)));
    const now = Date.now();
    const lines = rows.map(([state, { count, oldest }]) => [
      state,
      String(count),
      oldest === undefined ? "" : `the oldest was recorded ${length(now - oldest)} ago`,
    ]);
    await say(rows.length > 0 ? columns(lines) : "no operations");
  });
}

async function rowsOf(store: Store, counts: Counts, owner: string | undefined): Promise<(readonly [State, Row])[]> {
  const rows: (readonly [State, Row])[] = [];
  for (const state of STATES) {
    const count = counts[state] ?? 0;
    if (count === 0) continue;
    const [first] = OPEN_STATES.includes(state) ? await store.page({ states: [state], owner, limit: 1 }) : [];
    rows.push([state, { count, ...(first && { oldest: first.createdAt }) }]);
  }
  return rows;
}
