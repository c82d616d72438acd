import { MisuseError } from "../errors.js";

/** A length of time: milliseconds, or a number with a unit: `"500ms"`, `"30s"`, `"10m"`, `"24h"`, `"30d"`, `"1y"`. */
export type Duration = number | `${number}${"ms" | "s" | "m" | "h" | "d" | "y"}`;

const units: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  y: 365 * 86_400_000,
};

/**
 * A duration in whole milliseconds.
 *
 * @param option - the option's name, for the error
 * @throws MisuseError `bad_option` when it is negative, not finite, or not a length of time at all
 */
export function toMs(value: Duration, option: string): number {
  const match = typeof value === "string" ? /^(\d+(?:\.\d+)?)(ms|s|m|h|d|y)$/.exec(value) : undefined;
  const ms = match ? Number(match[1]) * (units[match[2] ?? ""] ?? Number.NaN) : value;
  if (typeof ms === "number" && ms >= 0 && Number.isFinite(ms)) return Math.round(ms);
  const shown = typeof value === "string" ? JSON.stringify(value) : String(value);
  throw new MisuseError("bad_option", {
    detail: `\`${option}\` is ${shown}, expected milliseconds or a text such as "30s" or "24h"`,
  });
}
