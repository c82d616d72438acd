/** Options that several verbs share, and how they are read. */

import { type Command, InvalidArgumentError } from "commander";
import { STATES, type State } from "../../core/record.js";
import type { PageFilter } from "../../store.js";

/** What narrows a list. */
export interface FilterOptions {
  readonly state?: readonly State[];
  readonly owner?: string;
  readonly operation?: string;
  readonly intent?: string;
  readonly lane?: string;
}

/** Adds what narrows a list. */
export function withFilter(command: Command): Command {
  return command
    .option("--state <states>", `by commas: ${STATES.join(", ")}`, states)
    .option("--owner <id>", "whose (default: everyone's)")
    .option("--operation <name>", "by the operation's name")
    .option("--intent <intent>", "by the intent")
    .option("--lane <lane>", "by the lane");
}

/** As a store takes it. */
export function filterOf({ state, owner, operation, intent, lane }: FilterOptions): PageFilter {
  return { states: state, owner, name: operation, intent, lane };
}

/** @throws InvalidArgumentError */
export function wholeNumber(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("Expected a whole number.");
}

/** @throws InvalidArgumentError */
export function perSecond(text: string): number {
  const rate = /^(\d+(?:\.\d+)?)(?:\/s)?$/.exec(text)?.[1];
  if (rate !== undefined && Number(rate) > 0) return Number(rate);
  throw new InvalidArgumentError("Expected so many a second, such as 5 or 0.5/s.");
}

function states(text: string): readonly State[] {
  return text.split(",").map((given) => {
    const state = STATES.find((known) => known === given.trim());
    if (state === undefined) throw new InvalidArgumentError(`${given} is no state; there are ${STATES.join(", ")}.`);
    return state;
  });
}
