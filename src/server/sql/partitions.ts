import { quoteIdentifier, quoteLiteral } from "./identifier.js";

const day = 86_400_000;

/** The smallest stored form of a v7 key minted at `time` (ms since 1970). */
export function keyBound(time: number): string {
  return `7${Math.max(0, Math.floor(time)).toString(16).padStart(12, "0")}`;
}

/** One day's keys (UTC). */
export interface Partition {
  readonly name: string;
  readonly from: string;
  readonly to: string;
}

/**
 * The daily partitions that hold every v7 key from `windowMs` before `now` until `aheadMs` after it.
 *
 * @param now - The database's time, ms since 1970.
 */
export function partitionsFor(now: number, windowMs: number, aheadMs: number): Partition[] {
  const partitions: Partition[] = [];
  for (let start = Math.floor((now - windowMs) / day) * day; start <= now + aheadMs; start += day) {
    const name = `keys_${new Date(start).toISOString().slice(0, 10).replaceAll("-", "")}`;
    partitions.push({ name, from: keyBound(start), to: keyBound(start + day) });
  }
  return partitions;
}

/**
 * Makes one partition. A table that is filled in and then attached takes no lock that live traffic would wait for;
 * `CREATE TABLE … PARTITION OF` would.
 */
export function partitionSql(schema: string, partition: Partition): string {
  const s = quoteIdentifier(schema);
  const name = `${s}.${quoteIdentifier(partition.name)}`;
  return `
CREATE TABLE ${name} (LIKE ${s}.keys INCLUDING ALL);
ALTER TABLE ${s}.keys ATTACH PARTITION ${name}
  FOR VALUES FROM (${quoteLiteral(partition.from)}) TO (${quoteLiteral(partition.to)});`;
}
