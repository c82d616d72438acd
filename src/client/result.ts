import type { StandardSchemaV1 } from "@standard-schema/spec";
import { decode } from "../core/body.js";
import { isSettled, type OperationRecord, type StoredResponse } from "../core/record.js";
import {
  CanceledError,
  type ErrorDetails,
  type MisuseCode,
  MisuseError,
  PendingError,
  RejectedError,
  ResultError,
  type SamekeyError,
  type UnknownOutcomeCode,
  UnknownOutcomeError,
} from "../errors.js";
import { readIssues } from "./checks.js";
import { sealedText } from "./sealed.js";
import type { OperationOptions, SendResult } from "./types.js";

/** Where an operation stands, and what came of it: discriminated by `state`. */
export type Outcome<Result = unknown, Failure = unknown> =
  | { readonly state: "succeeded"; readonly result: SendResult<Result> }
  | { readonly state: "unreadable"; readonly error: ResultError }
  | { readonly state: "rejected" | "expired"; readonly error: RejectedError<Failure> }
  | { readonly state: "misused"; readonly error: MisuseError<Failure> }
  | { readonly state: "canceled"; readonly error: CanceledError }
  | { readonly state: "unresolved"; readonly error: UnknownOutcomeError<Failure> }
  | { readonly state: "pending" | "blocked"; readonly error: PendingError<Failure> | MisuseError<Failure> }
  /** Nothing was recorded: the call or the store is at fault. */
  | { readonly state: "unsaved"; readonly error: SamekeyError };

/** A kept answer's headers as `Headers`. */
export function headersOf(response: StoredResponse): Headers {
  return new Headers(response.headers as Record<string, string>);
}

/** Whether samekey's server half kept the status alone: a body that says so stands in the place of the first one. */
const isOmitted = ({ headers }: StoredResponse): boolean => headers["idempotency-body"] === "omitted";

/** Why an answer's body is not here, although it has one. */
export function lackOf(response: StoredResponse): string | undefined {
  const { pruned, sealed, exceeded } = response;
  if (pruned) return "its answer is past its keep time and was dropped";
  if (sealed) return sealedText("its answer", sealed);
  if (exceeded) return `its answer has more bytes than \`maxResponse\` allowed (${exceeded}) and was not kept`;
  return isOmitted(response) ? "the server kept its answer's status, but not the body" : undefined;
}

/** A body as its content type says: JSON parsed, text as text, the rest as bytes, nothing as `undefined`. */
function parse(response: StoredResponse): unknown {
  const { body, headers, sealed } = response;
  if (!body || body.byteLength === 0 || sealed || isOmitted(response)) return undefined;
  const type = headers["content-type"] ?? "";
  if (/[/+]json\b/i.test(type)) return JSON.parse(decode(body));
  return /^text\/|[/+]xml\b/i.test(type) ? decode(body) : body;
}

function tryParse(response: StoredResponse | undefined): unknown {
  try {
    return response && parse(response);
  } catch {
    return response?.body && decode(response.body);
  }
}

interface Checked {
  readonly value?: unknown;
  readonly issues?: readonly StandardSchemaV1.Issue[] | undefined;
  readonly cause?: unknown;
}

/** A schema that throws is one that does not fit: the operation is settled all the same. */
async function check(schema: StandardSchemaV1 | undefined, value: unknown): Promise<Checked> {
  try {
    return (await schema?.["~standard"].validate(value)) ?? { value };
  } catch (cause) {
    return { issues: [{ message: "the schema threw" }], cause };
  }
}

/**
 * The result of a succeeded operation.
 *
 * @throws ResultError `unreadable` when the body is not what was declared
 */
export async function readResult(
  record: OperationRecord,
  schema: StandardSchemaV1 | undefined,
  source: "store" | undefined,
): Promise<SendResult> {
  const { response } = record;
  if (!response) throw new ResultError("unreadable", { record, detail: "it was reconciled, so there is no answer" });
  const headers = headersOf(response);
  const unreadable = (detail: string, cause?: unknown): ResultError =>
    new ResultError("unreadable", {
      record,
      detail,
      cause,
      status: response.status,
      headers,
      data: tryParse(response),
    });
  const lack = lackOf(response);
  if (lack) throw unreadable(lack);
  let data: unknown;
  try {
    data = parse(response);
  } catch (cause) {
    throw unreadable("the body is not JSON", cause);
  }
  const checked = schema ? await check(schema, data) : { value: data };
  if (checked.issues) {
    throw unreadable(readIssues(checked.issues, "data").told, checked.cause ?? checked.issues);
  }
  return {
    id: record.id,
    key: record.key,
    status: response.status,
    data: checked.value,
    headers,
    source: source ?? (response.replayed ? "replayed" : "executed"),
    attempts: record.attempts,
  };
}

/** The error that tells of a record which has not succeeded; `undefined` while it is pending. */
export async function readError(
  record: OperationRecord,
  schema?: StandardSchemaV1,
): Promise<MisuseError | RejectedError | UnknownOutcomeError | PendingError | CanceledError | undefined> {
  const { code, response } = record;
  const details: ErrorDetails & { readonly record: OperationRecord } = { record };
  if (response) {
    const raw = tryParse(response);
    const { issues, value } = await check(schema, raw);
    Object.assign(details, {
      status: response.status,
      headers: headersOf(response),
      data: issues ? raw : value,
      detail: [`HTTP ${response.status}`, lackOf(response)].filter(Boolean).join("; "),
    });
  }
  switch (record.state) {
    case "rejected":
      return new RejectedError("rejected", details);
    case "expired":
      return new RejectedError("expired", details);
    case "misused":
      return new MisuseError(code as MisuseCode, details);
    case "canceled":
      return new CanceledError("canceled", details);
    case "unresolved":
      return new UnknownOutcomeError(code as UnknownOutcomeCode, {
        ...details,
        detail: record.resolution?.reason ?? details.detail,
      });
    case "blocked":
      // The server's 422 is told at once, even where doubt about an earlier attempt keeps the operation alive.
      if (code === "key_reused" || code === "unprocessable" || code === "key_missing")
        return new MisuseError(code, details);
      return new PendingError("blocked", { ...details, detail: blockedText(record) });
    default:
      return undefined;
  }
}

function blockedText(record: OperationRecord): string {
  const why: Record<string, string> = {
    credentials: "`headers()` has no credentials for it, or the server asked for others",
    redirected: "the server answered with a redirect, which is not followed for a write",
    refused: "it was refused by something that does not speak for the key",
    headers: `headers that are not kept cannot be supplied again (${record.request.dropped.join(", ")})`,
    operation: "its operation is not declared by this program",
    sealed: record.request.sealed
      ? sealedText("its body", record.request.sealed)
      : "a program without the key of its seal took it up; this one has it, and `start()` or `send()` goes on",
  };
  return why[record.blockedBy ?? ""] ?? `${record.blockedBy}`;
}

/** The schemas of an operation, as far as they are declared. */
export type Schemas = Pick<OperationOptions<unknown, unknown, unknown>, "result" | "error">;

/** What stands in a record, as an {@link Outcome}. Never throws. */
export async function readOutcome(
  record: OperationRecord,
  schemas: Schemas,
  source: "store" | undefined,
): Promise<Outcome> {
  const { state } = record;
  if (state === "succeeded") {
    try {
      return { state, result: await readResult(record, schemas.result, source) };
    } catch (error) {
      return { state: "unreadable", error: error as ResultError };
    }
  }
  const error = (await readError(record, schemas.error)) ?? new PendingError("pending", { record });
  return { state, error } as Outcome;
}

/** Whether nobody need wait any longer: it has an outcome, or needs a person. */
export function isOver(record: OperationRecord): boolean {
  return isSettled(record) || record.state === "unresolved" || record.state === "blocked";
}
