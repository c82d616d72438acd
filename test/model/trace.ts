import type { OperationRecord, State } from "../../src/core/record.js";
import type { Action } from "./program.js";

/** What went onto the wire. */
export interface Sent {
  /** Counts the requests of the run. */
  readonly request: number;
  readonly method: string;
  readonly url: string;
  /** As rendered in its header. */
  readonly key: string;
  readonly contentType: string | undefined;
  readonly body: string;
  /** The credentials with it. */
  readonly token: string;
  /** The record of the operation for which those were asked, as it would survive a power failure at this moment. */
  readonly durable: OperationRecord | undefined;
  /** Whom this client may act for now. */
  readonly mayActFor: readonly string[] | "*";
}

/** How a request ended for its client. */
export type Ending =
  /** The whole answer was read. */
  | { readonly how: "answer"; readonly status: number; readonly headers: Readonly<Record<string, string>> }
  /** Its head came, and not the whole of its body. */
  | { readonly how: "cut"; readonly status: number }
  /** The connection was refused: nothing was sent. */
  | { readonly how: "unsent" }
  | { readonly how: "lost" }
  /** The client stopped waiting. */
  | { readonly how: "aborted"; readonly reason: string };

/** What a call of the user came to. */
export interface Told {
  readonly n: number;
  readonly action: Action;
  /** Its error's class and code, or `ok`. */
  readonly answer: string;
  readonly id: string | undefined;
  /** The state that its error or its result names. */
  readonly state: State | undefined;
  readonly record: OperationRecord | undefined;
  /** What would survive a power failure at this moment. */
  readonly durable: OperationRecord | undefined;
}

/** One thing that happened. */
export type Happening =
  | { readonly what: "born" | "closing" | "closed" | "crash" | "freeze" | "thaw" | "offline" | "online" | "calm" }
  /** The clocks by which the living go differ by more than a lease allows for, or do no more. */
  | { readonly what: "apart" | "together" }
  | { readonly what: "jump"; readonly by: number }
  | { readonly what: "session"; readonly owner: string | undefined }
  | { readonly what: "action"; readonly n: number; readonly action: Action }
  | ({ readonly what: "told" } & Told)
  | {
      readonly what: "write";
      readonly id: string;
      readonly before: OperationRecord | undefined;
      readonly after: OperationRecord | undefined;
      readonly strict: boolean;
    }
  /** All clients die, and the disk keeps these records only. */
  | { readonly what: "power"; readonly records: readonly OperationRecord[] }
  | { readonly what: "fault"; readonly of: "store"; readonly fate: string }
  | ({ readonly what: "fetch" } & Sent)
  | ({ readonly what: "end"; readonly request: number } & Ending)
  | { readonly what: "arrives"; readonly request: number }
  | { readonly what: "effect"; readonly key: string; readonly ref: string }
  | { readonly what: "credentials"; readonly id: string; readonly attempt: number; readonly token: string | null }
  | {
      readonly what: "hook";
      readonly record: OperationRecord;
      readonly ok: boolean;
      /** What would survive a power failure at this moment. */
      readonly durable: OperationRecord | undefined;
    }
  /** A hook has looked for what became of an operation, and is about to say. Looks are counted by client. */
  | { readonly what: "looks"; readonly look: number; readonly record: OperationRecord; readonly finds: string }
  /** It says so now. */
  | { readonly what: "found"; readonly look: number; readonly record: OperationRecord; readonly finds: string }
  | {
      readonly what: "over";
      readonly records: readonly OperationRecord[];
      /** Calls of living clients that never came to anything. */
      readonly open: readonly { readonly n: number; readonly action: Action }[];
    };

/** One thing that happened, when (milliseconds since the beginning, by the true clock) and to whom. */
export type ModelEvent = { readonly at: number; readonly who: string; readonly clock: number } & Happening;

/** One line for people. */
export function readable(event: ModelEvent): string {
  const { at, who } = event;
  return `${(at / 1000).toFixed(3).padStart(10)}s ${who.padEnd(6)} ${tell(event)}`;
}

function tell(event: ModelEvent): string {
  switch (event.what) {
    case "jump":
      return `its clock jumps by ${event.by} ms`;
    case "session":
      return `session: ${event.owner ?? "nobody"}`;
    case "action":
      return `#${event.n} ${describe(event.action)}`;
    case "told":
      return `#${event.n} ${event.action.do} → ${event.answer}${event.id ? ` (${short(event.id)})` : ""}`;
    case "write":
      return `${event.strict ? "WRITE" : "write"} ${short(event.id)} ${change(event.before, event.after)}`;
    case "power":
      return `power failure; left: ${event.records.map((record) => `${short(record.id)} ${state(record)}`).join("; ")}`;
    case "fault":
      return `${event.of}: ${event.fate}`;
    case "fetch":
      return `fetch ${event.request}: ${event.method} ${event.url} key ${short(event.key)} ${event.body} ${event.token}`;
    case "end":
      return `end of ${event.request}: ${ending(event)}`;
    case "arrives":
      return `request ${event.request} arrives`;
    case "effect":
      return `EFFECT ${event.ref} under ${short(event.key)}`;
    case "credentials":
      return `headers() for ${short(event.id)}, attempt ${event.attempt}: ${event.token ?? "none"}`;
    case "hook":
      return `settled(${short(event.record.id)} ${state(event.record)})${event.ok ? "" : " throws"}`;
    case "looks":
      return `reconcile(${short(event.record.id)}), look ${event.look}: ${event.finds}`;
    case "found":
      return `reconcile(${short(event.record.id)}), look ${event.look}, answers`;
    case "over":
      return `over: ${event.records.map((record) => `${short(record.id)} ${state(record)}`).join("; ")}`;
    default:
      return event.what;
  }
}

function describe({ do: verb, at: _, client: __, ...rest }: Action): string {
  return `${verb} ${JSON.stringify(rest)}`;
}

function ending(event: Ending): string {
  switch (event.how) {
    case "answer": {
      const told = ["idempotency-status", "retry-after", "location", "date"].filter((name) => name in event.headers);
      return [event.status, ...told.map((name) => `${name}: ${event.headers[name]}`)].join(" ");
    }
    case "cut":
      return `${event.status}, cut off`;
    case "aborted":
      return `aborted (${event.reason})`;
    default:
      return event.how;
  }
}

/** Ids begin with their time: the end tells them apart. */
export function short(id: string): string {
  return id.length > 8 ? id.slice(-6) : id;
}

function change(before: OperationRecord | undefined, after: OperationRecord | undefined): string {
  return after ? `${before ? state(before) : "new"} → ${state(after)}` : "removed";
}

function state(record: OperationRecord): string {
  const { state: name, blockedBy, code, mark, uncertainSince, lease, fence, key, delay, attempts } = record;
  const parts = [
    blockedBy ? `${name}:${blockedBy}` : name,
    code,
    mark && "marked",
    uncertainSince !== undefined && "uncertain",
    lease && `leased/${fence}`,
    record.parked && "parked",
    record.resolution?.how,
    record.delivered && "delivered",
    name === "pending" && `in ${delay} ms`,
    `try ${attempts}`,
    `key ${short(key)}`,
  ];
  return parts.filter(Boolean).join(" ");
}
