/**
 * What every store must do, as data: run each case with a harness for your store. Nothing here knows a test runner, and
 * nothing needs Node, so the same cases run in a page.
 *
 * ```ts
 * for (const { name, run } of storeContract) test(name, () => run(harness));
 * ```
 */

import { claiming } from "./store-contract/claiming.js";
import type { ContractCase } from "./store-contract/harness.js";
import { inserting } from "./store-contract/inserting.js";
import { lanes } from "./store-contract/lanes.js";
import { lasting } from "./store-contract/lasting.js";
import { reading } from "./store-contract/reading.js";
import { sequences } from "./store-contract/sequences.js";
import { strictness } from "./store-contract/strictness.js";
import { updating } from "./store-contract/updating.js";

export type { ContractCase, ContractHarness, ContractSubject, SyncLevel } from "./store-contract/harness.js";

/** Every case of the store contract. Each throws, with a message that says what was found, where the store differs. */
export const storeContract: readonly ContractCase[] = [
  ...inserting,
  ...updating,
  ...claiming,
  ...lanes,
  ...reading,
  ...lasting,
  ...strictness,
  ...sequences,
];
