import type { StandardSchemaV1 } from "@standard-schema/spec";
import { type Duration, toMs } from "../core/durations.js";
import { MisuseError, StoreError } from "../errors.js";
import type { AnyDefinition, Profile } from "./types.js";

/** A bad option, named. */
export function bad(detail: string): never {
  throw new MisuseError("bad_option", { detail });
}

/** There is no such operation, declared or recorded. */
export function unknownOperation(what: string): MisuseError {
  return new MisuseError("unknown_operation", { detail: what });
}

/** Something was asked of an Sdk after its `close`. */
export function closedError(): StoreError {
  return new StoreError("unavailable", { detail: "this Sdk was closed; make a new one with createSdk" });
}

/** What does not fit a schema, with where it stands below `root`. */
export function readIssues(
  issues: readonly StandardSchemaV1.Issue[],
  root: string,
): { readonly fields: string[]; readonly told: string } {
  const fields = issues.map(({ path = [] }) =>
    [root, ...path.map((step) => String(typeof step === "object" ? step.key : step))].join("."),
  );
  return { fields, told: issues.map(({ message }, i) => `${fields[i]}: ${message}`).join("; ") };
}

/** Refuses what is no object of the known options, `known` being their names. */
export function checkOptions(options: unknown, known: string, of: string): void {
  if (typeof options !== "object" || options === null) bad(`${of} takes an object of options`);
  const names = known.split(" ");
  for (const name of Object.keys(options)) {
    if (!names.includes(name)) bad(`\`${name}\` is not an option of ${of}; known are ${names.sort().join(", ")}`);
  }
}

/** An operation as `post` and its siblings make it. */
export function checkDefinition(given: AnyDefinition, name: string): AnyDefinition {
  const { method, path } = given ?? {};
  const isPath = typeof path === "string" || typeof path === "function";
  if (isPath && ["POST", "PUT", "PATCH", "DELETE"].includes(method)) return given;
  return bad(`\`operations.${name}\` is no operation: make it with post, put, patch or del, and a path`);
}

/** The contract of an API, checked as far as it is given. */
export function checkProfile(profile: Profile | undefined, option: string): Profile | undefined {
  if (profile === undefined) return undefined;
  const known = "name retention header quoted key dedupes keepHeaders read";
  checkOptions(profile, known, `\`${option}\``);
  oneOf(profile.key, `${option}.key`, "v7 v4");
  functionOption(profile.read, `${option}.read`);
  if (profile.header !== undefined) headerNames([profile.header], `${option}.header`);
  for (const flag of ["quoted", "dedupes"] as const) {
    if (typeof (profile[flag] ?? true) !== "boolean") bad(`\`${option}.${flag}\` is neither true nor false`);
  }
  return profile;
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

/** An object with these members. */
export function objectWith<T>(value: T | undefined, option: string, members: string): T | undefined {
  const missing = value === undefined ? undefined : members.split(" ").find((member) => !(member in Object(value)));
  if (missing) bad(`\`${option}\` has no \`${missing}\``);
  return value;
}

/** Whose operations these are, as `owner` answered. */
export function checkOwner(owner: unknown): string | undefined {
  if (owner === undefined || owner === null) return undefined;
  if (typeof owner === "string" && owner !== "" && owner !== "*") return owner;
  return bad('`owner` answered with something else than a non-empty string (and not "*") or undefined');
}

/** How long to wait; `undefined` for as long as it takes. */
export function waitOption(wait: Duration | undefined, option: string): number | undefined {
  return wait === undefined || wait === Number.POSITIVE_INFINITY ? undefined : toMs(wait, option);
}

/** A length of time. */
export function duration(value: Duration | undefined, option: string, otherwise: number): number {
  return value === undefined ? otherwise : toMs(value, option);
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
