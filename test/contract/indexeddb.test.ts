import "fake-indexeddb/auto";
import { expect, test } from "vitest";
import { indexedDbStore } from "../../src/stores/indexeddb.js";
import { contract } from "./contract.js";
import { indexedDbCases } from "./indexeddb.cases.js";
import { clock, harness } from "./indexeddb.harness.js";

test("there is an IndexedDB to test on (F76)", async () => {
  const store = indexedDbStore({ name: "probe" });
  await store.open({ name: "probe", clock });
  expect(await store.counts()).toEqual({});
  await store.close();
});

contract("indexeddb on fake-indexeddb", harness);
indexedDbCases("fake-indexeddb");
