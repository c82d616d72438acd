import { quoteIdentifier, quoteLiteral } from "./identifier.js";

const day = 86_400_000;

/** All keys but v7 are in one partition. */
export const opaque: Partition = { name: "keys_opaque", from: "o", to: "p" };

/** Partitions are made this far ahead, ms: a job that fails on a Friday has until the next. */
export const madeAhead: number = 7 * day;

/** How far ahead of the database's clock a v7 key may lie, ms. */
export const admittedAhead: number = 2 * day;

/** The smallest stored form of a v7 key minted at `time` (ms since 1970). */
export function keyBound(time: number): string {
  return `7${Math.max(0, Math.floor(time)).toString(16).padStart(12, "0")}`;
}

/** The time of a bound, or of the stored form of a v7 key, ms since 1970. */
export function boundTime(bound: string): number {
  return Number.parseInt(bound.slice(1, 13), 16);
}

/** {@link keyBound} of an expression, in SQL. */
export function keyBoundSql(ms: string): string {
  return `('7' || lpad(to_hex(${ms}), 12, '0')) COLLATE "C"`;
}

/** The start of a day (UTC). */
export function startOfDay(time: number): number {
  return Math.floor(time / day) * day;
}

/** The v7 keys of one or more whole days (UTC): bounds, the upper one exclusive. */
export interface Partition {
  readonly name: string;
  readonly from: string;
  readonly to: string;
}

/**
 * The partitions that are to follow those below `from`, up to {@link madeAhead} of `now`. There is never a gap: days
 * that have passed already share one, however long nobody asked or however wrong the clock was.
 *
 * @param now - The database's time, ms since 1970.
 */
export function partitionsAfter(from: number, now: number, window: number): Partition[] {
  const partitions: Partition[] = [];
  const width = widthFor(window);
  let end = from;
  while (end <= now + madeAhead) {
    const start = end;
    // What came before today needs no more than one: a new schema knows no key of it.
    end = Math.max(start + width, startOfDay(now));
    partitions.push(partition(start, end));
  }
  return partitions;
}

/**
 * Days, for a window of about a month; longer for longer ones. Some forty partitions at most, as each is a table and a
 * branch of the claim, and no key is kept more than a thirtieth too long.
 */
function widthFor(window: number): number {
  return Math.max(1, Math.round(window / day / 32)) * day;
}

function partition(from: number, to: number): Partition {
  return { name: `keys_${date(from)}_${date(to)}`, from: keyBound(from), to: keyBound(to) };
}

/** A partition from its name, which tells its bounds: a table that was detached and not yet dropped must be known, too. */
export function parsePartition(name: string): Partition | undefined {
  const [, from, to] = /^keys_(\d{8})_(\d{8})$/.exec(name) ?? [];
  return from && to ? { name, from: keyBound(timeOf(from)), to: keyBound(timeOf(to)) } : undefined;
}

const timeOf = (date: string): number => Date.parse(date.replace(/(....)(..)(..)/, "$1-$2-$3"));

const date = (time: number): string => new Date(time).toISOString().slice(0, 10).replaceAll("-", "");

/**
 * Makes one partition. A table that is filled in and then attached takes no lock that live traffic would wait for;
 * `CREATE TABLE … PARTITION OF` would.
 */
export function partitionSql(schema: string, { name, from, to }: Partition): string {
  const s = quoteIdentifier(schema);
  const table = `${s}.${quoteIdentifier(name)}`;
  return `CREATE TABLE ${table} (LIKE ${s}.keys INCLUDING ALL);
ALTER TABLE ${s}.keys ATTACH PARTITION ${table} FOR VALUES FROM (${quoteLiteral(from)}) TO (${quoteLiteral(to)});`;
}
