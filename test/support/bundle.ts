import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { entries, importName, root } from "../../scripts/entries.mjs";

/** A program for plain Node, made from TypeScript. */
export interface Bundle {
  /** The file to run. */
  readonly path: string;
  remove(): Promise<void>;
}

/**
 * Makes a program that a test can start as a process of its own: Node 20 runs no TypeScript. `samekey` in it is the
 * sources as they stand, whatever `dist` holds.
 *
 * @param entry - `new URL("worker.ts", import.meta.url)`
 */
export async function bundle(entry: URL): Promise<Bundle> {
  // Below the project, so that packages are found.
  const home = join(root, ".tmp");
  await mkdir(home, { recursive: true });
  const directory = await mkdtemp(join(home, "bundle-"));
  const source = fileURLToPath(entry);
  const path = join(directory, basename(source).replace(/\.ts$/, ".js"));
  await build({
    entryPoints: [source],
    outfile: path,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    packages: "external",
    sourcemap: "inline",
    logLevel: "error",
    alias: Object.fromEntries(
      entries.map(([subpath, sources]) => [importName(subpath), join(root, "src", sources["node"] ?? sources.default)]),
    ),
  });
  return { path, remove: () => rm(directory, { recursive: true, force: true }) };
}
