import { sealedText } from "../../client/sealed.js";
import {
  type AttemptEntry,
  isUncertain,
  type OperationRecord,
  type StoredRequest,
  type StoredResponse,
  waitsLong,
  wasApplied,
  windowEnd,
  windowStart,
} from "../../core/record.js";
import { advise } from "./advice.js";
import { columns, moment, safe } from "./text.js";
import { bodyView } from "./view.js";

/** Where it stands, and why. */
export function standing(record: OperationRecord): string {
  const { state, blockedBy, code, resolution, nextAttemptAt } = record;
  const until = waitsLong(record) ? `until ${new Date(nextAttemptAt).toISOString()}` : undefined;
  const why = resolution?.how ?? blockedBy ?? until ?? (code === state ? undefined : code);
  return why === undefined ? state : `${state} (${why})`;
}

/** Which it is, and where it stands, in a line. */
export function heading(record: OperationRecord): string {
  return `${record.id}  ${safe(record.name)}  ${standing(record)}`;
}

/**
 * All that is known of one operation, for people.
 *
 * @param place - the options that name the store, for the commands that are proposed
 * @param successor - the operation that was reissued in its place
 */
export function story(
  record: OperationRecord,
  now: number,
  bodies: boolean,
  place: string,
  successor?: OperationRecord,
): string {
  const { request, response, history, resolution, attempts } = record;
  const facts: (readonly [string, string | undefined])[] = [
    ["intent", record.intent],
    ["owner", record.owner],
    ["lane", record.lane && `${record.lane}${record.parked ? ", behind another" : ""}`],
    ["request", `${request.method} ${request.url}${sizeOf(request.body, request.contentType)}`],
    ["key", keyOf(record)],
    ["profile", record.wire.profile && `${record.wire.profile}: only a program that has it works on it`],
    ["recorded", moment(record.createdAt, now)],
    ["first sent", record.sentAt === undefined ? "never" : moment(record.sentAt, now)],
    ["may have been applied", appliedOf(record, now)],
    ["key's time", keyTimeOf(record, now)],
    ["next attempt", record.state === "pending" ? moment(record.nextAttemptAt, now) : undefined],
    ["deadline", record.deadline === undefined ? undefined : moment(record.deadline, now)],
    ["settled", record.settledAt === undefined ? undefined : moment(record.settledAt, now)],
    [
      "the server said",
      response &&
        `${response.status}${response.replayed ? ", replayed" : ""}${sizeOf(response.body)}${tooLong(response.exceeded)}`,
    ],
    ["decided", resolution && `${resolution.how}, ${moment(resolution.at, now)}${reasonOf(resolution.reason)}`],
    ["reissue of", record.reissueOf],
    ["reissued as", successor && `${successor.id}, ${standing(successor)}`],
    ["hook", record.settledAt !== undefined && !record.delivered ? "not yet called" : undefined],
  ];
  const known = facts.flatMap(([what, how]) => (how ? [[`  ${what}`, safe(how)]] : []));
  const told = advise(record, now, place).map((line) => `  ${line}`);
  return [
    heading(record),
    columns(known),
    `attempts: ${attempts}${history.length < attempts ? `, the last ${history.length}:` : ""}`,
    ...(history.length > 0 ? [columns(history.map((entry) => attemptOf(entry)))] : []),
    ...(bodies ? bodiesOf(record) : []),
    ...(told.length > 0 ? ["what can be done:", ...told] : []),
  ].join("\n");
}

function attemptOf({ at, ms, verdict, status, cause }: AttemptEntry): readonly string[] {
  return [`  ${new Date(at).toISOString()}`, `${ms} ms`, verdict, safe([status, cause].filter(Boolean).join(" "))];
}

function sizeOf(body: ArrayBuffer | undefined, type?: string): string {
  return body ? `, ${body.byteLength} bytes${type ? ` of ${type}` : ""}` : "";
}

const tooLong = (limit: number | undefined): string => (limit ? `, more than ${limit} bytes: not kept` : "");

function keyOf({ key, wire: { place, name } }: OperationRecord): string {
  return place === "none" ? `${key}, which is not sent` : `${key}, as ${name} in the ${place}`;
}

function appliedOf(record: OperationRecord, now: number): string {
  const applied = wasApplied(record);
  if (applied !== "maybe") return { yes: "yes: it was", no: "no" }[applied];
  const since = isUncertain(record) ? windowStart(record) : undefined;
  return since === undefined ? "yes" : `yes, since ${moment(since, now)}`;
}

function keyTimeOf(record: OperationRecord, now: number): string | undefined {
  const end = windowEnd(record);
  if (end === undefined) return undefined;
  return end > now ? `the server is asked under it until ${moment(end, now)}` : `over since ${moment(end, now)}`;
}

const reasonOf = (reason: string | undefined): string => (reason === undefined ? "" : `: ${reason}`);

function bodiesOf({ request, response }: OperationRecord): string[] {
  const part = (what: string, { headers, body, sealed }: StoredRequest | StoredResponse): string[] => [
    `${what}:`,
    ...Object.entries(headers).map(([name, value]) => `  ${name}: ${safe(value)}`),
    ...(sealed ? [`  ${sealedText("it", sealed)}${sealed.why ? "" : ": --sdk opens it"}`] : []),
    ...(body && !sealed ? Object.entries(bodyView(body)).map(([kind, text]) => `  ${kind}: ${safe(text)}`) : []),
  ];
  return [...part("request", request), ...(response ? part("answer", response) : [])];
}
