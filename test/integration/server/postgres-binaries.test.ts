import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { copyOf, placeFor } from "../../../examples/reference-server/postgres-binaries.js";

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

test("directories on the way to the data are made so that the user whom Postgres runs as gets through", async () => {
  await chmod(directory, 0o755);
  const ours = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };

  const place = await placeFor(ours, join(directory, "not", "yet", "there"));

  expect(place).toBe(join(directory, "not", "yet", "there"));
  const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;
  expect(await modeOf(join(directory, "not", "yet"))).toBe(0o777 & ~process.umask());
  expect(await modeOf(place)).toBe(0o700);
});
