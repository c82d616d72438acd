import type { StandardSchemaV1 } from "@standard-schema/spec";
import { bad } from "../core/checks.js";
import { type Duration, toMs } from "../core/durations.js";
import { MisuseError, StoreError } from "../errors.js";
import type { AnyDefinition } from "./types.js";

export { bad, checkOptions, functionOption, headerNames, oneOf, positive, wholeNumber } from "../core/checks.js";

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

/** An operation as `post` and its siblings make it. */
export function checkDefinition(given: AnyDefinition, name: string): AnyDefinition {
  const { method, path } = given ?? {};
  // What is sent is the path as it stands: nothing fills in a `:name`.
  const isPath = typeof path === "string" ? !/\/:\w/.test(path) : typeof path === "function";
  if (isPath && ["POST", "PUT", "PATCH", "DELETE"].includes(method)) return given;
  return bad(
    `\`operations.${name}\` is no operation: make it with post, put, patch or del, and a path, or (body) => path where it varies`,
  );
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
