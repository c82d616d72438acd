/**
 * Where the file is, and whether it may be used. A file that exists is never opened here: to close it again would take
 * away the locks of every SQLite connection that this process has on it.
 */

import { access, constants, mkdir, open, realpath, stat, statfs } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import process from "node:process";
import { faultPoint } from "../../core/fault-point.js";
import { MisuseError, StoreError } from "../../errors.js";

/** The default path: the platform's place for state that outlives a program, or `$SAMEKEY_DIR`. */
export function defaultPath(name: string): string {
  // A name is a name, not a path.
  return join(stateDirectory(), `${encodeURIComponent(name).replaceAll(".", "%2E")}.sqlite`);
}

function stateDirectory(): string {
  const { SAMEKEY_DIR, XDG_STATE_HOME, LOCALAPPDATA } = process.env;
  if (SAMEKEY_DIR) return SAMEKEY_DIR;
  if (process.platform === "darwin") return join(homedir(), "Library/Application Support/samekey");
  if (process.platform === "win32") return join(LOCALAPPDATA || join(homedir(), "AppData/Local"), "samekey");
  return join(XDG_STATE_HOME || join(homedir(), ".local/state"), "samekey");
}

/**
 * Makes sure that a file stands at `path` that only its owner can read, on a file system that can hold it.
 *
 * @returns its real path
 */
export async function preparePlace(path: string): Promise<string> {
  if (path === "" || path.startsWith(":memory:") || path.startsWith("file:")) {
    const detail = `path: ${JSON.stringify(path)} is not the path of a file. Use memoryStore() for a store in memory`;
    throw new MisuseError("bad_option", { detail });
  }
  const given = resolve(path);
  try {
    await mkdir(dirname(given), { recursive: true, mode: 0o700 });
    await refuseRemote(dirname(given));
    await create(given);
    const real = await realpath(given);
    if (!(await stat(real)).isFile()) throw new Error("this is no regular file");
    await access(real, constants.R_OK | constants.W_OK);
    await refuseReadable(real);
    await refuseOrphanedLog(real);
    await syncNames(real);
    return real;
  } catch (cause) {
    if (cause instanceof StoreError) throw cause;
    const remedy = "Choose a path that this user can write to, with `sqliteStore({ path })` or $SAMEKEY_DIR";
    throw new StoreError("unavailable", { detail: `${given}: ${(cause as Error).message}. ${remedy}`, cause });
  }
}

/** What the file and its log take, and what they could come to on that disk, in bytes. */
export async function roomAt(path: string): Promise<{ usage: number; quota: number }> {
  const sizes = [path, `${path}-wal`].map((file) =>
    stat(file).then(
      ({ size }) => size,
      () => 0,
    ),
  );
  const [{ bavail, bsize }, ...found] = await Promise.all([statfs(dirname(path)), ...sizes]);
  const usage = found.reduce((sum, size) => sum + size, 0);
  return { usage, quota: usage + bavail * bsize };
}

/** SQLite gives its log and its index the mode of the file, so the file is there first. */
async function create(path: string): Promise<void> {
  try {
    await (await open(path, "wx", 0o600)).close();
    FAULT: faultPoint("open:created");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/**
 * A name is safe once its directory was synced. SQLite sees to that for its files, but not for directories that were made to
 * hold them; which ones were made, by whoever was here before, nobody knows.
 */
async function syncNames(file: string): Promise<void> {
  const { size } = await stat(file);
  for (let at = dirname(file); size === 0 && at !== dirname(at); at = dirname(at)) {
    try {
      const directory = await open(dirname(at), "r");
      await directory.sync().finally(() => directory.close());
    } catch (error) {
      // Not made by this user, or on a system that syncs names by itself.
      if (!NOT_OURS.includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
    }
  }
}

const NOT_OURS: readonly string[] = ["EACCES", "EPERM", "EISDIR", "EINVAL", "EROFS"];

/** SQLite would delete a log that stands without its file, and with it whatever had not been copied yet. */
async function refuseOrphanedLog(path: string): Promise<void> {
  const [file, log] = await Promise.all([stat(path), stat(`${path}-wal`).catch(() => undefined)]);
  if (file.size > 0 || !log?.size) return;
  throw new StoreError("corrupt", { detail: `${path}: the file is empty, but its write-ahead log is not` });
}

/** Requests and answers are in it. What the world can read is refused; a group is often the operator's intention. */
async function refuseReadable(path: string): Promise<void> {
  // Windows has no such bits.
  if (process.platform === "win32") return;
  const { mode } = await stat(path);
  const remedy = `Run \`chmod 600 ${path}*\``;
  if (mode & 0o006) {
    throw new StoreError("unavailable", { detail: `${path}: every user of this machine can read it. ${remedy}` });
  }
  if (mode & 0o060) {
    process.emitWarning(`${path}: the group of this file can read it. ${remedy}`, { code: "SAMEKEY_STORE_READABLE" });
  }
}

/** What statfs(2) calls file systems on which locks or shared memory do not reach everyone who has them mounted. */
const REMOTE: ReadonlyMap<number, string> = new Map([
  [0x6969, "NFS"],
  [0x517b, "SMB"],
  [0xff534d42, "CIFS"],
  [0xfe534d42, "SMB 2"],
  [0x65735546, "FUSE or virtiofs"],
  [0x01021997, "9P"],
  [0x5346414f, "AFS"],
  [0x00c36400, "Ceph"],
  [0x0bd00bd0, "Lustre"],
  [0x47504653, "GPFS"],
  [0x786f4256, "a VirtualBox shared folder"],
  [0xbacbacbc, "a VMware shared folder"],
]);

async function refuseRemote(directory: string): Promise<void> {
  // Elsewhere the numbers mean something else.
  if (process.platform !== "linux") return;
  const { type } = await statfs(directory);
  const name = REMOTE.get(type >>> 0);
  if (!name) return;
  const detail = `${directory} is on ${name}, where SQLite's locks cannot be relied on. Choose a path on a local disk`;
  throw new StoreError("unavailable", { detail });
}
