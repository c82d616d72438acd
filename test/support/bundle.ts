import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundle as build } from "../../examples/bundle.js";

/** A program for plain Node, made from TypeScript. */
export interface Bundle {
  /** The file to run. */
  readonly path: string;
  remove(): void;
}

/**
 * Makes a program that a test can start as a process of its own. `samekey` in it is the sources as they stand.
 *
 * @param entry - `new URL("worker.ts", import.meta.url)`
 */
export async function bundle(entry: URL): Promise<Bundle> {
  const source = fileURLToPath(entry);
  const { directory, remove } = await build(source);
  return { path: join(directory, basename(source, ".ts").concat(".js")), remove };
}
