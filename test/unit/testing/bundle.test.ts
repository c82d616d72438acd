import { build } from "esbuild";
import { expect, test } from "vitest";

test("runs in a page: nothing of Node, no test runner and no msw is reached", async () => {
  const { metafile } = await build({
    entryPoints: ["src/testing/index.ts"],
    bundle: true,
    write: false,
    metafile: true,
    format: "esm",
    platform: "neutral",
    mainFields: ["browser", "module", "main"],
    conditions: ["browser"],
    external: ["node:*", "msw", "vitest"],
  });
  const reached = Object.values(metafile.outputs).flatMap(({ imports }) => imports.map(({ path }) => path));
  expect(reached).toEqual([]);
});
