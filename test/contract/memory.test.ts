import { memoryStore } from "../../src/stores/memory.js";
import type { ContractHarness } from "../../src/testing/store-contract.js";
import { context } from "../support/records.js";
import { contract } from "./contract.js";

const harness: ContractHarness = {
  async create() {
    const store = memoryStore();
    await store.open(context);
    return {
      store,
      async reopen() {
        await store.close();
        await store.open(context);
        return store;
      },
      second: async () => store,
      destroy: () => store.close(),
    };
  },
};

contract("memory", harness);
