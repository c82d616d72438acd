import { Buffer } from "node:buffer";
import { type Duration, toMs } from "../core/durations.js";
import { MisuseError } from "../errors.js";
import type { AnyDatabase } from "./driver.js";
import type { ServerEvent } from "./observe.js";

/** Options of {@link createIdempotency}. */
export interface IdempotencyOptions<D extends AnyDatabase = AnyDatabase, R = unknown> {
  /**
   * The database that holds the effects: a `pg` Pool or a `postgres` Sql as it is, or what tells how a query builder or
   * ORM runs a transaction (see {@link TransactionRunner}).
   */
  readonly db: D;
  /**
   * How long a key is honoured: milliseconds, or `"24h"`, `"7d"`. Promised from a key's first use, if that came within
   * a tenth of it after the key was minted (samekey's client sees to that). At most `"366d"`.
   */
  readonly retention: Duration;
  /**
   * The stable account id that a request acts for, never a credential; for adapters. Nothing or "" means that the
   * request is not authenticated, and is answered 401.
   */
  readonly tenant?: ((request: R) => string | null | undefined | Promise<string | null | undefined>) | undefined;
  /** The schema that samekey's tables live in. @defaultValue "samekey" */
  readonly schema?: string | undefined;
  /** Response headers that are stored with an answer, besides the usual ones. @defaultValue [] */
  readonly headers?: readonly string[] | undefined;
  /**
   * How large a stored body may be, in bytes. A larger one is sent to the first request and not kept: replays give the
   * status, the marks and `Idempotency-Body: omitted`, with a body that says so.
   *
   * @defaultValue 1 MiB
   */
  readonly maxStoredBody?: number | undefined;
  /**
   * How long a handler may run, ms or `"60s"`. Past it its signal aborts, its connection is closed, nothing is stored
   * and the answer is 503. Postgres ends a transaction that idles this long, too: a dead host's lock goes.
   *
   * @defaultValue "60s"
   */
  readonly handlerTimeout?: Duration | undefined;
  /**
   * Told once how each `run` ended, just before its answer goes out. What it throws is ignored; what it awaits, nobody
   * waits for.
   */
  readonly observe?: ((event: ServerEvent) => void) | undefined;
}

/** Complete, validated options. Times in ms. */
export interface ResolvedOptions<R> {
  readonly tenant: IdempotencyOptions<AnyDatabase, R>["tenant"];
  readonly schema: string;
  readonly headers: readonly string[];
  /** Bytes. */
  readonly maxStoredBody: number;
  readonly handlerTimeout: number;
  readonly observe: IdempotencyOptions["observe"];
  /** What is promised. */
  readonly retention: number;
  /** How old a key may be. */
  readonly window: number;
}

/** @throws MisuseError `bad_option`, naming the option. */
export function resolveOptions<R>(options: Omit<IdempotencyOptions<AnyDatabase, R>, "db">): ResolvedOptions<R> {
  const {
    tenant,
    schema = "samekey",
    headers = [],
    maxStoredBody = mebibyte,
    handlerTimeout = "60s",
    observe,
  } = options;
  // Postgres cuts longer names off silently.
  if (schema === "" || Buffer.byteLength(schema) > 63 || schema.includes("\0")) {
    throw bad("`schema` must be a name of 1 to 63 bytes");
  }
  if (!Number.isInteger(maxStoredBody) || maxStoredBody < 0 || maxStoredBody > 256 * mebibyte) {
    throw bad(`\`maxStoredBody\` must be a whole number of bytes, from 0 to ${256 * mebibyte}`);
  }
  if (observe !== undefined && typeof observe !== "function") throw bad("`observe` must be a function");
  const retention = milliseconds(options.retention, "retention", 366 * day);
  return {
    tenant,
    schema,
    headers,
    maxStoredBody,
    handlerTimeout: milliseconds(handlerTimeout, "handlerTimeout", day),
    observe,
    retention,
    // A client may first use a key when it is up to a tenth of the retention old, and may retry for the whole of it.
    window: Math.ceil(retention * 1.1),
  };
}

const day = 86_400_000;
const mebibyte = 1024 * 1024;

function milliseconds(value: Duration, option: string, max: number): number {
  const ms = Math.ceil(toMs(value, option));
  if (ms >= 1 && ms <= max) return ms;
  throw bad(`\`${option}\` must be 1 to ${max} milliseconds`);
}

function bad(detail: string): MisuseError {
  return new MisuseError("bad_option", { detail });
}
