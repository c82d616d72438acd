import { load } from "./build.mjs";

/** The Sdk of every part: the one operation that is measured, over a SQLite file. */
export async function openSdk(dist, path, options) {
  const { createSdk, post, sqliteStore } = await load(dist);
  return createSdk({
    name: "bench",
    owner: "single",
    retention: "24h",
    store: sqliteStore({ path }),
    operations: { transfer: post("/transfers") },
    ...options,
  });
}
