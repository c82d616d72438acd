import ky from "ky";
import { isReplay, readAnswer, type Signal, speaksForKey } from "../core/classify.js";
import { faultPoint } from "../core/fault-point.js";
import { keyedBody, keyedUrl } from "../core/key.js";
import type { ProfileRequest } from "../core/profile.js";
import type { BlockedBy, OperationRecord, StoredResponse } from "../core/record.js";
import { type HeaderReader, parseHttpDate } from "../core/retry-after.js";
import { MisuseError } from "../errors.js";
import type { Clock } from "../store.js";
import { AnswerHeaders } from "./answer-headers.js";
import { isCutOff } from "./cut-off.js";
import { headersFor } from "./headers.js";
import type { ResolvedOperation } from "./options.js";
import type { Health } from "./origins.js";
import { placeAt } from "./place.js";
import { letGo, readResponse } from "./read-bounded.js";

/** What one attempt needs from its surroundings. */
export interface AttemptEnvironment {
  readonly operation: ResolvedOperation;
  readonly fetch: typeof globalThis.fetch;
  readonly clock: Clock;
  /** Calls back once so many milliseconds are over, unless its answer is called before. */
  readonly deadline: (ms: number, late: () => void) => () => void;
  readonly seesRedirects: boolean;
  /** Whether an error of `fetch` proves that no byte of the request was sent. */
  readonly provesUnsent: (error: unknown) => boolean;
  /** The origin to which `headers()` applies. */
  readonly baseOrigin: string | undefined;
  /** Headers that tell where the attempt stands in a trace: the request's own go before them. */
  readonly traced: Headers | undefined;
  /** Headers of the call that were not kept; absent after a restart. */
  readonly transient: Headers | undefined;
  /** Options of the call to `fetch` that made it; absent after a restart. */
  readonly hints: RequestInit | undefined;
  /** Asked synchronously, right before fetch: whether this record may be sent now, and as its owner. */
  readonly mayBeSent: (record: OperationRecord) => boolean;
  /** Fresh for this attempt. Aborted by its time-out, and by whoever closes the sdk or signs the owner out. */
  readonly controller: AbortController;
}

/** An abort that is ours, not a time-out: it tells nothing of the origin. */
function isOurs(signal: AbortSignal): boolean {
  return signal.aborted && (signal.reason as { name?: unknown } | null)?.name !== "TimeoutError";
}

/** What came of an attempt. */
export interface AttemptResult {
  readonly signal: Signal;
  readonly health: Health;
  readonly response?: StoredResponse;
  /** A success whose answer ends too early, by all appearance. */
  readonly isCutOff?: boolean;
  readonly block?: BlockedBy;
  /** Not sent because someone else is signed in now, or its time is over: no failure, and no reason to wait. */
  readonly forbidden?: boolean;
  /** Not sent, although fetch was called: it counts as an attempt. */
  readonly made?: boolean;
  readonly timedOut?: boolean;
  readonly status?: number;
  /** What was thrown, for the history and the log. */
  readonly error?: unknown;
  /** The program is wrong: whoever waits is told at once. */
  readonly fault?: MisuseError;
  /** The server's clock, from a speaking answer. */
  readonly serverDate?: number;
}

const MAX_TIMEOUT = 120_000;
const MAX_HOPS = 5;

/** How far an attempt has come: decides what its breaking off means. */
interface Progress {
  /** How often fetch was called: more than once behind a redirect. */
  sent: number;
  /** Set once the head of an answer is here. */
  answer?: { readonly status: number; readonly headers: HeaderReader };
  /** What came of it, even if nothing more is learned. */
  known?: AttemptResult;
}

/**
 * Sends a marked record once and reads the answer to its last byte. Never rejects, and ends as soon as its signal is
 * aborted: not every fetch heeds it.
 */
export function attempt(record: OperationRecord, env: AttemptEnvironment): Promise<AttemptResult> {
  const { controller, operation } = env;
  const { signal } = controller;
  const timeout = Math.min(
    operation.attemptTimeout * 2 ** record.timeouts,
    Math.max(MAX_TIMEOUT, operation.attemptTimeout),
  );
  const progress: Progress = { sent: 0 };
  let timedOut = false;
  return new Promise((resolve) => {
    const disarm = env.deadline(timeout, () => {
      timedOut = true;
      controller.abort(new DOMException(`no whole answer within ${timeout} ms`, "TimeoutError"));
    });
    const abort = (): void => breakOff(signal.reason);
    const end = (result: AttemptResult): void => {
      disarm();
      // Node keeps a request for as long as its signal leads to it: by a listener and an answer that broke off, for ever.
      signal.removeEventListener("abort", abort);
      resolve(timedOut ? { ...result, timedOut } : result);
    };
    const breakOff = (error: unknown): void => end(progress.known ?? broken(progress, env, error));
    if (signal.aborted) return breakOff(signal.reason);
    // One listener for the whole of it.
    signal.addEventListener("abort", abort);
    send(record, env, progress).then(end, breakOff);
  });
}

/** Asks once; and once more, for the data, where a success came without its end. */
async function send(record: OperationRecord, env: AttemptEnvironment, progress: Progress): Promise<AttemptResult> {
  const first = await ask(record, env, progress);
  const { wire, attempts, unmade = 0 } = record;
  if (!first.isCutOff || !wire.dedupes || attempts - unmade >= env.operation.retry.attempts) return first;
  // The effect is certain, and stays so whatever comes of it.
  progress.known = first;
  const again = await ask(record, env, progress);
  return isReplayOf(first, again) ? again : first;
}

async function ask(record: OperationRecord, env: AttemptEnvironment, progress: Progress): Promise<AttemptResult> {
  const { signal } = env.controller;
  if (record.request.sealed) return { ...unsent(undefined), block: "sealed" };
  const asking = { ...env, url: record.request.url, signal };
  const headers = await headersFor(record, asking);
  if (headers === null) return { ...unsent(undefined), block: "credentials" };
  if (record.request.dropped.some((name) => !headers.has(name))) return { ...unsent(undefined), block: "headers" };
  const { request, wire } = record;
  // Set last, so that nothing else decides which key travels.
  if (wire.place === "header") headers.set(wire.name, wire.value);
  if (wire.firstSent) headers.set(wire.firstSent, new Date(record.sentAt ?? env.clock.now()).toUTCString());
  const body = keyedBody(wire, request.body) ?? null;

  const once = async (url: string, method: string, body: ArrayBuffer | null): Promise<Response> => {
    // Synchronous up to fetch: no sign-out can come in between.
    if (!env.mayBeSent(record)) throw forbidden;
    signal.throwIfAborted();
    progress.sent++;
    FAULT: faultPoint("send:before");
    const { credentials } = request;
    // What was recorded goes last: no hint of the caller can change it.
    const init: RequestInit = { ...env.hints, method, body, headers, redirect: "manual", signal };
    if (credentials) init.credentials = credentials;
    const sent = env.fetch(url, init);
    FAULT: faultPoint("send:after");
    return sent;
  };
  const write = (url: string): Promise<Response> => once(keyedUrl(wire, url), request.method, body);
  const result = await readWhole(await follow(record, env, write), progress, env);
  const created = placeOfCreated(record, env, result);
  if (created === undefined) return result;
  if (wire.place === "header") headers.delete(wire.name);
  headers.delete("content-type");
  return (await readCreated(await once(created, "GET", null), progress, env)) ?? result;
}

function isReplayOf({ response: first }: AttemptResult, { response, isCutOff }: AttemptResult): boolean {
  if (!first || !response?.body || isCutOff) return false;
  return response.status === first.status && response.headers["content-type"] === first.headers["content-type"];
}

/** Where an answer that says "already created" says that it is to be read. */
function placeOfCreated(
  record: OperationRecord,
  { operation, clock }: AttemptEnvironment,
  { signal }: AttemptResult,
): string | undefined {
  const lookUp = operation.profile?.lookUp;
  if (!lookUp || signal.kind !== "answer" || !signal.body) return undefined;
  const now = clock.now();
  const answer = readAnswer(signal, signal.body, now, operation.rules.replayHeaders);
  const found = lookUp(answer, requestOf(record, now));
  return found === undefined ? undefined : placeAt(record, found);
}

/** What was created, told as a replay; `undefined` where it is not to be had. Where it may be had later, that is tried. */
async function readCreated(
  response: Response,
  progress: Progress,
  env: AttemptEnvironment,
): Promise<AttemptResult | undefined> {
  const { status } = response;
  if (status === 429 || status >= 500) return { signal: { kind: "thrown" }, health: "failed", status };
  if (!response.ok) return undefined;
  const result = await readWhole(response, progress, env);
  return result.response ? { ...result, response: { ...result.response, replayed: true } } : result;
}

/** What a profile is told of the request that an answer answers. */
export function requestOf({ request, uncertainSince }: OperationRecord, now: number): ProfileRequest {
  return { method: request.method, url: request.url, uncertain: uncertainSince !== undefined, now };
}

/** What it means that an attempt came to no end. Where it was thrown decides, never what it says. */
function broken({ sent, answer }: Progress, env: AttemptEnvironment, error: unknown): AttemptResult {
  const { signal } = env.controller;
  if (answer) {
    const health = isOurs(signal) ? "unknown" : "failed";
    return { signal: { kind: "answer", ...answer }, health, status: answer.status, error };
  }
  // Behind a redirect something was sent already.
  if (sent > 1 || (sent === 1 && !env.provesUnsent(error))) {
    return { signal: { kind: "thrown" }, health: isOurs(signal) ? "unknown" : "failed", error };
  }
  if (error === forbidden) return { ...unsent(undefined), forbidden: true };
  if (error instanceof MisuseError && sent === 0) return { ...unsent(error), fault: error };
  return sent === 0 ? unsent(error) : { ...unsent(error), health: "failed", made: true };
}

const forbidden = new Error("samekey: another owner is signed in, or its time or its lease is over");

function unsent(error: unknown): AttemptResult {
  return { signal: { kind: "unsent" }, health: "unknown", error };
}

/** Sends through ky; on a platform that sees redirects, 307 and 308 to the same origin are sent on under the same key. */
async function follow(
  record: OperationRecord,
  env: AttemptEnvironment,
  once: (url: string) => Promise<Response>,
): Promise<Response> {
  let { url } = record.request;
  for (let hop = 0; ; hop++) {
    let sent: Promise<Response> | undefined;
    const send = (): Promise<Response> => {
      sent ??= once(url);
      return sent;
    };
    // ky gets neither body nor signal: it would make a stream of the one and outlive the other.
    const response = await ky(url, {
      method: record.request.method,
      retry: 0,
      timeout: false,
      throwHttpErrors: false,
      // An answer from here spares ky the copy of its request that it keeps for retries.
      hooks: { beforeRequest: [send] },
      // For an answer that is no `Response` of this realm's own.
      fetch: send,
    });
    const location = response.headers.get("location");
    const followed = env.seesRedirects && record.wire.redirect === "same-origin";
    // One that speaks for the key is an answer: it tells where the effect can be seen.
    const asks =
      (response.status === 307 || response.status === 308) &&
      !speaksForKey(response.headers, env.operation.rules.replayHeaders);
    const target = followed && asks && location !== null ? placeAt(record, location, url) : undefined;
    if (!target || hop >= MAX_HOPS) return response;
    url = target;
    letGo(response);
  }
}

async function readWhole(
  response: Response,
  progress: Progress,
  { operation, clock, controller }: AttemptEnvironment,
): Promise<AttemptResult> {
  const { maxResponse, rules } = operation;
  const { replayHeaders } = rules;
  const redirect = response.type === "opaqueredirect";
  if (redirect || response.type === "opaque" || response.status === 0) {
    return { signal: { kind: "opaque", redirect }, health: "unknown" };
  }
  const { status } = response;
  const headers = new AnswerHeaders(response.headers);
  progress.answer = { status, headers };
  FAULT: faultPoint("answer:head");
  const body = await readResponse(response, maxResponse, () => controller.signal.throwIfAborted());
  FAULT: faultPoint("answer:body");
  const exceeded = body === undefined;
  const cutOff = !exceeded && isCutOff({ ok: response.ok, status, headers }, body);
  // What a refusal would have said is unknown, as where the reading of it throws.
  if (cutOff && !response.ok) throw new TypeError("the answer was cut off");
  const speaks = speaksForKey(headers, replayHeaders);
  const serverDate = speaks ? parseHttpDate(headers.get("date"), clock.now()) : undefined;
  const kept = { status, headers: headers.kept, body, replayed: isReplay(headers, replayHeaders) };
  return {
    // What it says is too long to be read, not unknown: it will be as long the next time.
    signal: { kind: "answer", status, headers, body: body ?? new ArrayBuffer(0), exceeded },
    health: status >= 500 ? "failed" : "answered",
    status,
    response: exceeded ? { ...kept, exceeded: maxResponse } : kept,
    ...(cutOff && { isCutOff: true }),
    ...(serverDate !== undefined && { serverDate }),
  };
}
