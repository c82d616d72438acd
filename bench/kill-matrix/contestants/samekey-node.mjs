import { join } from "node:path";
// biome-ignore lint/correctness/noUndeclaredDependencies: it is what stands in this repository, built anew
import { createSdk, post } from "samekey";
// biome-ignore lint/correctness/noUndeclaredDependencies: it is what stands in this repository, built anew
import { sqliteStore } from "samekey/stores/sqlite";
import { app } from "./samekey-app.mjs";

export function open({ window, directory, port }) {
  return app(
    createSdk({
      name: "matrix",
      baseUrl: `http://127.0.0.1:${port}`,
      owner: "single",
      retention: window,
      store: sqliteStore({ path: join(directory, "matrix.sqlite") }),
      operations: { transfer: post("/transfers") },
    }),
  );
}
