import { statSync } from "node:fs";
import { join } from "node:path";
import { createSdk, post } from "samekey";
import { sqliteStore } from "samekey/stores/sqlite";
import { expect, it } from "vitest";
import { PENDING_BYTES } from "../../../scripts/figures.mjs";
import { directory } from "./tools.js";

it("a pending record takes as many bytes of the file as docs/scale.md counts with", async () => {
  const path = join(directory(), "shop.sqlite");
  const sdk = createSdk({
    name: "shop",
    owner: "single",
    baseUrl: "https://api.example.com",
    retention: "24h",
    store: sqliteStore({ path }),
    operations: { transfer: post<object>("/transfers") },
  });
  const records = 20_000;
  const save = (i: number) =>
    sdk.operation("transfer", { src: 8842, dst: 1190, amount: 100_000 + i }, { intent: `order-${i}` }).save();
  await Promise.all(Array.from({ length: records }, (_, i) => save(i)));
  await sdk.close();
  const each = statSync(path).size / records;
  expect(each).toBeGreaterThan(PENDING_BYTES * 0.95);
  expect(each).toBeLessThan(PENDING_BYTES * 1.05);
});
