/** What an error of Postgres, or of its driver, means. By code, never by message. */

import { StoreError } from "../../errors.js";

/** Whatever a driver threw. What is no `PostgresFailure` is somebody's own error and passes through the store. */
export class PostgresFailure extends Error {
  /** The SQLSTATE, where Postgres gave one: otherwise the connection failed, not the statement. */
  readonly state: string | undefined;

  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    const code = (cause as { code?: unknown } | null | undefined)?.code;
    this.state = typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) && !code.startsWith("E") ? code : undefined;
  }

  /** It says nothing about the statement: the connection was lost or refused, or the server starts or stops. */
  get isConnection(): boolean {
    return this.state === undefined || /^(08|57P|53300|25P03|25P04)/.test(this.state);
  }

  /** Someone else was in the way: serialization, deadlock, lock time-out, a unique value taken in between. */
  get isContention(): boolean {
    return this.state !== undefined && ["40001", "40P01", "55P03", "23505"].includes(this.state);
  }
}

/** Nothing more can be asked of this connection. */
export function isLost(error: unknown): boolean {
  return error instanceof PostgresFailure && error.isConnection;
}

/** A commit of which nobody can tell whether it happened: the connection went away while it was under way. */
export class UnknownFate extends Error {}

/** What the caller of a verb gets. */
export function asStoreError(error: unknown, id?: string): unknown {
  if (error instanceof UnknownFate) {
    const detail = "Postgres: the connection was lost during COMMIT, which may have happened";
    return new StoreError("not_durable", { detail, id, cause: error.cause });
  }
  if (!(error instanceof PostgresFailure)) return error;
  const { cause, state } = error;
  const detail = `Postgres: ${error.message}${state ? ` (SQLSTATE ${state})` : ""}`;
  if (state === "53100") return new StoreError("store_full", { detail, cause });
  if (state === "XX001" || state === "XX002") return new StoreError("corrupt", { detail, cause });
  if (state === "57014" || error.isContention) return new StoreError("stalled", { detail, id, cause });
  return new StoreError("unavailable", { detail, cause });
}
