import type { ContractHarness, SyncLevel } from "../../src/testing/store-contract.js";
import { contract } from "../contract/contract.js";
import { Connection } from "./world/connection.js";
import { Disk } from "./world/disk.js";

/** The simulated store on a good day is held to what every store is held to. */
const harness: ContractHarness = {
  async create() {
    const disk = new Disk();
    let level: SyncLevel | undefined;
    const connect = async () => {
      const connection = new Connection({
        disk,
        pause: async () => {},
        latency: () => 1,
        fate: () => "ok",
        stall: () => ({ before: 0, after: 0, commits: true }),
        alive: () => true,
        awake: async () => {},
        onCommit: (_, strict) => {
          level = strict ? "strict" : "relaxed";
        },
        onFault: () => {},
      });
      await connection.open();
      return connection;
    };
    const store = await connect();
    return {
      store,
      async reopen() {
        await store.close();
        return connect();
      },
      second: connect,
      lastSync: () => level,
      destroy: () => store.close(),
    };
  },
};

contract("simulated", harness);
