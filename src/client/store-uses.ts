import type { Store } from "../store.js";
import { bad } from "./checks.js";

/** How many sdks have a store open that they were given, and under what name. */
interface Use {
  readonly name: string;
  open: number;
}

const uses = new WeakMap<Store, Use>();

/**
 * A store is for sdks of one name: it is the name that tells it where to keep things, and whoever opens it first tells it.
 *
 * @throws MisuseError `bad_option`
 */
export function ofOneName(store: Store, name: string): void {
  const use = uses.get(store) ?? { name, open: 0 };
  if (use.name !== name) bad(`\`store\` is that of the sdk \`${use.name}\`; make another one for \`${name}\``);
  uses.set(store, use);
}

/** An sdk has opened the store (1), or is done with it (-1). @returns whether any has it open now */
export function isInUse(store: Store, change: 1 | -1): boolean {
  const use = uses.get(store) as Use;
  use.open += change;
  return use.open > 0;
}
