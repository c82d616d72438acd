import type { Advice } from "./advice.js";
import type { Check, CheckResult } from "./check.js";
import type { Conclusion } from "./verdict.js";

/** What `samekey doctor --json` prints, on one line. */
export interface DoctorReport {
  /** The version of this shape. */
  readonly v: 1;
  /** Without its query, which may hold secrets. */
  readonly url: string;
  readonly method: string;
  readonly conclusion: Conclusion;
  /** Whether the request itself was sent, or only what is read-only. */
  readonly wrote: boolean;
  /** How many requests were made. */
  readonly requests: number;
  readonly checks: readonly Check[];
  /** Options of `createSdk` that follow. */
  readonly options: readonly Advice[];
}

const conclusions: Readonly<Record<Conclusion, string>> = {
  kept: "the contract is kept, as far as it was seen",
  broken: "the contract is broken",
  inconclusive: "nothing can be concluded",
};

const headings: readonly (readonly [CheckResult, string])[] = [
  ["broken", "Broken:"],
  ["kept", "A client may rely on this:"],
  ["differs", "Otherwise than the contract, at the cost of no effect:"],
  ["not-seen", "Not seen, so nothing is claimed:"],
];

/** The report for a reader. */
export function render({ url, method, conclusion, requests, checks, options }: DoctorReport): string {
  const groups = headings.flatMap(([result, heading]) => {
    const lines = checks.filter((check) => check.result === result).map(({ name, detail }) => line(name, detail));
    return lines.length > 0 ? [[heading, ...lines].join("\n")] : [];
  });
  const advice = options.map(({ code, why }) => `  ${code},  // ${why}`);
  return [
    `${method} ${url}: ${conclusions[conclusion]} (${requests} ${requests === 1 ? "request" : "requests"})`,
    ...groups,
    ["For createSdk, or the operation:", ...advice].join("\n"),
  ].join("\n\n");
}

const line = (name: string, detail: string): string => `  ${name.padEnd(15)} ${detail}`;
