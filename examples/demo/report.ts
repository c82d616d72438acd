import type { Counts } from "samekey";
import type { Audit } from "./audit.js";
import type { Bank } from "./bank.js";
import type { HardLife } from "./hard-life.js";
import type { Weather } from "./weather.js";

/** Everything that the table at the end tells. */
export interface Findings {
  readonly transfers: number;
  readonly across: number;
  readonly counts: Counts;
  readonly life: HardLife;
  readonly bank: Bank;
  readonly audit: Audit;
  readonly underWay: number;
  readonly balanceBefore: number;
  readonly balanceAfter: number;
  /** Between the worker and the server. */
  readonly weather: Weather;
  /** Between the shards. */
  readonly inside: Weather;
  readonly undelivered: number;
}

/** Whether every transfer happened exactly once. */
export function isKept({ transfers, counts, life, audit, underWay, balanceBefore, balanceAfter }: Findings): boolean {
  return (
    audit.duplicates === 0 &&
    audit.lost === 0 &&
    audit.wrongBalances === 0 &&
    underWay === 0 &&
    balanceAfter === balanceBefore &&
    counts.succeeded === transfers &&
    life.settled.size === transfers
  );
}

export function rowsOf(findings: Findings): (readonly [string, number])[] {
  const { weather, inside, bank, audit } = findings;
  const { faults } = weather;
  return [
    ["operations", findings.transfers],
    ["  of them succeeded, says the worker", findings.counts.succeeded ?? 0],
    ["  of them told to the settled hook", findings.life.settled.size],
    ["kills (SIGKILL)", findings.life.kills],
    ["attempts", weather.attempts],
    ["  requests lost", faults["lose request"]],
    ["  responses lost after the commit", faults["lose response"]],
    ["  responses cut off", faults["cut body"]],
    ["  responses that found the worker dead", findings.undelivered],
    ["  requests duplicated", faults.duplicate],
    ["  503 from a gateway", faults["503"]],
    ["  stalled", faults.stall],
    ["answers 409, a copy was under way", weather.busy],
    ["answers replayed from the server's record", weather.replays],
    ["shards", bank.pools.length],
    ["  server killed and started again", bank.kills],
    ["  a shard crashed and started again", bank.outages],
    ["transfers from shard to shard", findings.across],
    ["  attempts between the shards", inside.attempts],
    ["  credits relayed", audit.credits],
    ["  refused, and the money given back", audit.returned],
    ["money under way", findings.underWay],
    ["ledger entries (two for each transfer)", audit.entries],
    ["duplicates", audit.duplicates],
    ["lost", audit.lost],
    ["balance before", findings.balanceBefore],
    ["balance after", findings.balanceAfter],
    ["accounts with a wrong balance", audit.wrongBalances],
  ];
}
