/** What `power-loss.c` writes down. */

import { readFileSync } from "node:fs";

/** Identified by their inodes: names come and go. */
export type Entry = { readonly order: bigint; readonly file: bigint } & (
  | {
      readonly kind: "write";
      readonly offset: number;
      readonly size: number;
      readonly old: Buffer;
      readonly now: Buffer;
    }
  /** `size` is what it was before. */
  | { readonly kind: "truncate"; readonly to: number; readonly size: number; readonly cut: Buffer }
  | { readonly kind: "sync" }
  | { readonly kind: "create"; readonly directory: bigint; readonly path: string }
  | { readonly kind: "unlink"; readonly directory: bigint; readonly path: string; readonly grave: string }
);

const HEAD = 48;

/** The entries of one process; without what it was killed at. */
export function readJournal(path: string): Entry[] {
  const bytes = readFileSync(path);
  const entries: Entry[] = [];
  for (let at = 0; at + HEAD <= bytes.length; ) {
    const [first, second] = [bytes.readUInt32LE(at + 12), bytes.readUInt32LE(at + 16)];
    const end = at + HEAD + first + second;
    if (end > bytes.length) break;
    entries.push(entryOf(bytes.subarray(at, end), first));
    at = end;
  }
  return entries;
}

function entryOf(bytes: Buffer, first: number): Entry {
  const common = { order: bytes.readBigUInt64LE(0), file: bytes.readBigUInt64LE(24) };
  const [a, b] = [bytes.readBigUInt64LE(32), bytes.readBigUInt64LE(40)];
  const [one, two] = [bytes.subarray(HEAD, HEAD + first), bytes.subarray(HEAD + first)];
  switch (bytes.readUInt32LE(8)) {
    case 1:
      return { ...common, kind: "write", offset: Number(a), size: Number(b), old: one, now: two };
    case 2:
      return { ...common, kind: "truncate", to: Number(a), size: Number(b), cut: one };
    case 3:
      return { ...common, kind: "sync" };
    case 4:
      return { ...common, kind: "create", directory: a, path: one.toString() };
    case 5:
      return { ...common, kind: "unlink", directory: a, path: one.toString(), grave: two.toString() };
    default:
      throw new Error(`the journal holds an entry of kind ${bytes.readUInt32LE(8)}`);
  }
}
