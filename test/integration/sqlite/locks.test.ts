import { join } from "node:path";
import { createSdk, post } from "samekey";
import { sqliteStore } from "samekey/stores/sqlite";
import { expect, test } from "vitest";
import { loadDriver } from "../../../src/stores/sqlite/driver.js";
import { startObservedServer } from "../../support/observed-server.js";
import { directory, later } from "./tools.js";

test("while an answer is awaited nothing in the file is locked: others read, write and checkpoint", async () => {
  const path = join(directory(), "store.sqlite");
  const server = await startObservedServer();
  later(() => server.close());
  const sdk = createSdk({
    name: "locks",
    baseUrl: server.url,
    owner: "single",
    retention: "24h",
    store: sqliteStore({ path }),
    operations: { order: post<{ order: string }>("/orders") },
  });
  later(() => sdk.close({ timeout: 0 }));
  let goOn = (): void => {};
  const held = new Promise<void>((resolve) => {
    server.at("committed", () => {
      resolve();
      return new Promise<void>((answered) => (goOn = answered));
    });
  });
  const outcome = sdk.operation("order", { order: "1" }).outcome();
  await held;

  const other = (await loadDriver(undefined))(path);
  later(() => void other.close());
  other.exec("pragma busy_timeout = 0; begin immediate; rollback");
  // Not even somebody who reads: then a checkpoint would have to stop short.
  expect(other.prepare("pragma wal_checkpoint(truncate)").get()).toEqual({ busy: 0, log: 0, checkpointed: 0 });
  goOn();
  expect(await outcome).toMatchObject({ state: "succeeded" });
});
