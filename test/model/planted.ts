import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { build, type Plugin } from "esbuild";
import type { Plant } from "./plants/index.js";

const root = process.cwd();
const sources = join(root, "src");

/** The model over sources that a bug was planted in. */
export type Model = typeof import("./run.js");

/**
 * Builds the model with a bug in the sources.
 *
 * @throws Error when the place of the bug is not there any more, or more than once
 */
export async function plantedModel({ name, changes }: Plant): Promise<Model> {
  const applied = new Set<unknown>();
  const plugin: Plugin = {
    name: "plant",
    setup({ onLoad }) {
      onLoad({ filter: /\/src\/.*\.ts$/ }, ({ path }) => {
        const mine = changes.filter(({ file }) => relative(sources, path) === file);
        if (mine.length === 0) return undefined;
        let contents = readFileSync(path, "utf8");
        for (const change of mine) {
          const found = contents.split(change.find).length - 1;
          if (found !== 1)
            throw new Error(`"${name}" cannot be planted: ${change.file} holds its place ${found} times`);
          contents = contents.replace(change.find, () => change.replace);
          applied.add(change);
        }
        return { contents, loader: "ts" };
      });
    },
  };
  // Below the project, so that packages are found.
  mkdirSync(join(root, ".tmp"), { recursive: true });
  const directory = mkdtempSync(join(root, ".tmp/plant-"));
  const outfile = join(directory, "model.mjs");
  try {
    await build({
      entryPoints: [join(root, "test/model/run.ts")],
      outfile,
      bundle: true,
      platform: "node",
      format: "esm",
      target: "node20",
      packages: "external",
      logLevel: "silent",
      plugins: [plugin],
    });
    const missed = changes.find((change) => !applied.has(change));
    if (missed) throw new Error(`"${name}" cannot be planted: ${missed.file} is not part of the client`);
    return (await import(pathToFileURL(outfile).href)) as Model;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
