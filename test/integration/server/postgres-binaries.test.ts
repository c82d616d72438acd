import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { copyOf } from "../../../examples/reference-server/postgres-binaries.js";

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "samekey-binaries-"));
  vi.stubEnv("TMPDIR", directory);
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(directory, { recursive: true, force: true });
});

test("two databases that start at once, where nobody but root reaches the project, get one whole copy of Postgres", async () => {
  const native = join(directory, "native");
  await mkdir(join(native, "bin"), { recursive: true });
  await writeFile(join(native, "bin", "postgres"), "the program");

  const [first, second] = await Promise.all([copyOf(native), copyOf(native)]);

  expect(second).toBe(first);
  expect(await readFile(join(first, "bin", "postgres"), "utf8")).toBe("the program");
  expect((await readdir(directory)).sort()).toEqual(["native", first.slice(directory.length + 1)]);
});
