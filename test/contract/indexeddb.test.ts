import "fake-indexeddb/auto";
import { contract } from "./contract.js";
import { harness } from "./indexeddb.harness.js";

contract("indexeddb (fake)", harness);
