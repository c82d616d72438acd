/** Checks of options: what every part that takes some is made of. */

import { MisuseError } from "../errors.js";
import { type Duration, toMs } from "./durations.js";

/** A bad option, named. */
export function bad(detail: string): never {
  throw new MisuseError("bad_option", { detail });
}

/** Refuses what is no object of the known options, `known` being their names. */
export function checkOptions(options: unknown, known: string, of: string): void {
  if (typeof options !== "object" || options === null) bad(`${of} takes an object of options`);
  const names = known.split(" ");
  for (const name of Object.keys(options)) {
    if (!names.includes(name)) bad(`\`${name}\` is not an option of ${of}; known are ${names.sort().join(", ")}`);
  }
}

const secret = /^(authorization|proxy-authorization|cookie|cookie2|x-csrf-token|x-xsrf-token|x-api-key)$/i;

/** Names of headers, in lower case. */
export function headerNames(names: readonly string[] | undefined, option: string): string[] {
  if (names === undefined) return [];
  if (!Array.isArray(names)) bad(`\`${option}\` is no list of header names`);
  for (const name of names) {
    if (typeof name !== "string" || !/^[\w!#$%&'*+.^`|~-]+$/.test(name)) {
      bad(`\`${option}\` holds ${JSON.stringify(name)}, which is no header's name`);
    }
    if (secret.test(name)) bad(`\`${option}\` holds ${name}: credentials are never kept; pass them from \`headers()\``);
  }
  return names.map((name: string) => name.toLowerCase());
}

/** One of a few words, if anything. */
export function oneOf<T extends string | undefined>(value: T, option: string, words: string): T {
  if (value !== undefined && !words.split(" ").includes(value)) {
    bad(`\`${option}\` is ${JSON.stringify(value)}, expected ${words.split(" ").join(" or ")}`);
  }
  return value;
}

/** A length of time that is more than none. */
export function positive(value: Duration, option: string): number {
  const ms = toMs(value, option);
  return ms > 0 ? ms : bad(`\`${option}\` is 0, expected more`);
}

/** A whole number above 0. */
export function wholeNumber(value: number | undefined, option: string, otherwise: number): number {
  if (value === undefined) return otherwise;
  const isWhole = Number.isSafeInteger(value) && value > 0;
  return isWhole ? value : bad(`\`${option}\` is ${value}, expected a whole number above 0`);
}

/** A function, if anything. */
export function functionOption<T>(value: T | undefined, option: string): T | undefined {
  return value === undefined || typeof value === "function" ? value : bad(`\`${option}\` is not a function`);
}
