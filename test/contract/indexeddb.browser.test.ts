import { contract } from "./contract.js";
import { indexedDbCases } from "./indexeddb.cases.js";
import { harness } from "./indexeddb.harness.js";

contract("indexeddb on Chromium", harness);
indexedDbCases("Chromium");
