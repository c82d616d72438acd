/** What tells a file from its copies: what the file system says of it, and a token in a small file beside it. */

import { closeSync, constants, fsyncSync, openSync, readFileSync, statSync, writeSync } from "node:fs";

/**
 * The file's inode and the moment of its birth, which a copy does not take along and a rename does not change. Not the
 * device: its number may be another after each start of the machine.
 */
export function identityOf(path: string): string {
  const { ino, birthtimeNs, ctimeNs } = statSync(path, { bigint: true });
  // Where the moment of birth is not known, that of the last change stands in for it, or nothing.
  const born = birthtimeNs === ctimeNs || birthtimeNs === 0n ? "" : birthtimeNs;
  return `${ino}:${born}`;
}

export function isSameFile(a: string, b: string): boolean {
  const [inode, born] = a.split(":");
  const [otherInode, otherBorn] = b.split(":");
  return inode === otherInode && (born === otherBorn || !born || !otherBorn);
}

const beside = (path: string): string => `${path}-token`;

/** What stands beside the file; empty where nothing does. */
export function readToken(path: string): string {
  try {
    return readFileSync(beside(path), "latin1").trim();
  } catch {
    return "";
  }
}

/** Over the old one, which is as long: at no moment is there none. */
export function writeToken(path: string, token: string): void {
  const file = openSync(beside(path), constants.O_RDWR | constants.O_CREAT, 0o600);
  try {
    writeSync(file, token, 0, "latin1");
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
