import { contract } from "./contract.js";
import { harness } from "./indexeddb.harness.js";

contract("indexeddb (Chromium)", harness);
