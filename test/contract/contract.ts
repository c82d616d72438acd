import { describe, test } from "vitest";
import type { ContractHarness } from "../../src/testing/store-contract.js";
import { storeContract } from "../../src/testing/store-contract.js";

/**
 * Registers every case of the contract under the store's name.
 *
 * @param except - names of cases that do not apply to it
 */
export function contract(store: string, harness: ContractHarness, except: readonly string[] = []): void {
  const names = storeContract.map(({ name }) => name);
  const unknown = except.filter((name) => !names.includes(name));
  if (unknown.length > 0) throw new Error(`the contract has no case ${unknown.join(", ")}`);
  describe(store, () => {
    for (const { name, case: field, run } of storeContract.filter((it) => !except.includes(it.name))) {
      test(field ? `${name} (${field})` : name, () => run(harness));
    }
  });
}
