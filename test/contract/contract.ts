import { describe, test } from "vitest";
import type { ContractHarness } from "../../src/testing/store-contract.js";
import { storeContract } from "../../src/testing/store-contract.js";

/** Registers every case of the contract under the store's name. */
export function contract(store: string, harness: ContractHarness): void {
  describe(store, () => {
    for (const { name, case: field, run } of storeContract) {
      test(field ? `${name} (${field})` : name, () => run(harness));
    }
  });
}
