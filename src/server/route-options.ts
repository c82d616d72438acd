import { MisuseError } from "../errors.js";
import { checkRunOptions, type RunOptions } from "./run-options.js";

/** Options of one kind of operation, whatever serves it. */
export interface RouteOptions<Tx = unknown> extends Omit<RunOptions<Tx>, "rerun"> {
  /** The largest body, in bytes; a larger one is answered 413 before the key is looked at. @defaultValue 1048576 */
  readonly bodyLimit?: number | undefined;
}

/** Complete, validated options. */
export interface ResolvedRouteOptions<Tx> extends Omit<RunOptions<Tx>, "rerun"> {
  readonly bodyLimit: number;
}

/** @throws MisuseError `bad_option`, naming the option. */
export function resolveRouteOptions<Tx>({
  bodyLimit = 1024 * 1024,
  ...options
}: RouteOptions<Tx>): ResolvedRouteOptions<Tx> {
  if (!Number.isSafeInteger(bodyLimit) || bodyLimit < 0) {
    throw new MisuseError("bad_option", { detail: "`bodyLimit` must be a whole number of bytes" });
  }
  checkRunOptions(options);
  return { bodyLimit, ...options };
}
