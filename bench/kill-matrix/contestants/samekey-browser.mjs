// biome-ignore lint/correctness/noUndeclaredDependencies: it is what stands in this repository, built anew
import { createSdk, post } from "samekey";
import { app } from "./samekey-app.mjs";

export function open({ window }) {
  return app(
    createSdk({ name: "matrix", owner: "single", retention: window, operations: { transfer: post("/transfers") } }),
  );
}
