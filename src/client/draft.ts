import { decode, encode, type FrozenBody, freezeBody } from "../core/body.js";
import { toMs } from "../core/durations.js";
import type { WholeRecord } from "../core/fields.js";
import { checkKey, deriveKey, mintUuid, renderKey } from "../core/key.js";
import { type Beginning, newRecord } from "../core/new-record.js";
import { readerNameOf } from "../core/profile.js";
import type { Random } from "../core/random.js";
import type { StoredRequest, Wire } from "../core/record.js";
import { MisuseError } from "../errors.js";
import { bad, readIssues } from "./checks.js";
import { type FetchTerms, hintsFor } from "./fetch-init.js";
import { toHeaders } from "./headers.js";
import type { ResolvedOperation } from "./options.js";
import { splitHeaders } from "./request-headers.js";
import type { CallOptions } from "./types.js";

/** An operation as the caller described it, checked and serialised; nothing is recorded yet. */
export interface Draft {
  readonly operation: ResolvedOperation;
  readonly id: string;
  /** The id is ours, so that another will do. */
  readonly mintedId: boolean;
  readonly owner: string;
  /** The caller named the owner himself. */
  readonly onBehalf: boolean;
  readonly request: StoredRequest;
  readonly origin: string;
  /** Where its key travels. */
  readonly place: Pick<Wire, "place" | "name">;
  /** Headers of this call that are not kept; they live as long as this process. */
  readonly transient: Headers | undefined;
  /** Options of `fetch` for the attempts of this process. */
  readonly hints: RequestInit | undefined;
  readonly redirect: Wire["redirect"];
  readonly intent: string | undefined;
  readonly lane: string | undefined;
  readonly key: string | undefined;
  readonly deadline: number | undefined;
}

/** What a draft is made from, besides the call. */
export interface DraftContext {
  readonly operation: ResolvedOperation;
  readonly baseUrl: string | undefined;
  readonly owner: () => string | undefined;
  readonly now: number;
  readonly random: Random;
  /** What `fetch` brings itself. */
  readonly own?: (FetchTerms & { readonly method: string; readonly url: string; readonly accept: string }) | undefined;
}

const known = ["intent", "id", "key", "owner", "lane", "headers", "deadline"];

/**
 * Checks and serialises one call.
 *
 * @throws MisuseError `bad_option` or `body_not_replayable`
 */
export function createDraft(input: unknown, call: CallOptions, context: DraftContext): Draft {
  const { operation, own } = context;
  for (const option of Object.keys(call)) {
    if (!known.includes(option)) bad(`\`${option}\` is not an option of a call; known are ${known.join(", ")}`);
  }
  const owner = call.owner ?? context.owner();
  if (owner === undefined) bad("`owner` answered undefined: nobody is signed in, so this is nobody's operation");
  if (typeof owner !== "string" || owner === "" || owner === "*") {
    bad(`the owner ${JSON.stringify(owner)} is not one user's id`);
  }
  const value = validate(operation, input);
  const url = resolveUrl(context.baseUrl, own?.url ?? pathOf(operation, input), operation.name);
  const method = own?.method ?? operation.definition?.method ?? "POST";
  const { place } = operation;
  // What an endpoint does not know may not stand in its body.
  const isPlaceable = place.place === "header" || operation.terms(method, url.href).dedupes;
  // A library may write the key into the body by itself; an intent's is ours.
  const mayBring = own !== undefined && call.intent === undefined;
  const { frozen, brought } = placed(freezeBody(value, operation.maxBody), isPlaceable, operation, mayBring);
  const isPlaced = isPlaceable && brought === undefined;
  const key = brought ?? call.key;
  const headers = call.headers && toHeaders(call.headers, "headers");
  const contentType = headers?.get("content-type") ?? frozen.contentType;
  if (headers?.has(operation.header)) taken("`headers`", operation.header);
  const { kept, dropped, transient } = splitHeaders(headers, operation, own?.accept ?? "application/json");
  if (operation.definition?.options.intent === "required" && call.intent === undefined) {
    bad(`\`${operation.name}\` requires an intent: pass { intent: … } with your own name for what is being done`);
  }
  return {
    operation,
    id: call.id === undefined ? mintUuid("v7", context.now, context.random) : checkKey(call.id),
    mintedId: call.id === undefined,
    owner,
    onBehalf: call.owner !== undefined,
    request: {
      method,
      url: url.href,
      headers: kept,
      dropped,
      body: frozen.body,
      contentType,
      compare: frozen.compare,
      credentials: own?.credentials ?? operation.credentials,
    },
    origin: url.origin,
    place: isPlaced ? place : { place: "none", name: "" },
    transient,
    hints: hintsFor(own?.hints, frozen.body?.byteLength ?? 0),
    redirect: own?.redirect ?? "same-origin",
    intent: text(call.intent, "intent"),
    lane: text(call.lane, "lane"),
    key: key === undefined ? undefined : checkKey(key),
    deadline: call.deadline === undefined ? undefined : toMs(call.deadline, "deadline"),
  };
}

/** The record of a draft, as it stands before anyone works on it. A store gives it its `seq`. */
export function createRecord(draft: Draft, now: number, random: Random, traceparent?: string): WholeRecord {
  const { operation, owner, intent } = draft;
  const { retention, dedupes, keyLength } = operation.terms(draft.request.method, draft.request.url);
  if (retention === undefined) bad("`retention` is missing: how long does the API remember an idempotency key?");
  const derived =
    operation.options.key === "from-intent" && intent !== undefined
      ? deriveKey(owner, operation.name, intent)
      : undefined;
  const given = draft.key ?? derived;
  const key = given ?? mintUuid(operation.mint, now, random);
  checkFit(key, draft, keyLength);
  const beginning: Beginning = {
    id: draft.id,
    key,
    name: operation.name,
    intent,
    owner,
    lane: draft.lane,
    origin: draft.origin,
    request: draft.request,
    wire: {
      // Not spread: each field that an object gets after a spread costs as much as all of the others here.
      place: draft.place.place,
      name: draft.place.name,
      value: renderKey(key, operation.quoted),
      quoted: operation.quoted,
      mint: given === undefined ? operation.mint : "never",
      retention,
      // Another URL's query is the server's, not ours.
      redirect: draft.place.place === "query" ? "manual" : draft.redirect,
      dedupes,
      firstSent: operation.profile?.firstSentHeader?.toLowerCase(),
      profile: readerNameOf(operation.profile),
    },
    deadline: draft.deadline === undefined ? undefined : now + draft.deadline,
    traceparent,
    reissueOf: undefined,
  };
  return newRecord(beginning, now);
}

/** A body with room for the key, or with the one that it brings. */
function placed(
  frozen: FrozenBody,
  isPlaceable: boolean,
  { name, place }: ResolvedOperation,
  mayBring: boolean,
): { frozen: FrozenBody; brought?: string } {
  if (place.place !== "body" || !isPlaceable) return { frozen };
  if (!frozen.body) return { frozen: { body: encode("{}"), contentType: "application/json", compare: "json" } };
  let value: unknown;
  try {
    value = JSON.parse(decode(frozen.body));
  } catch {
    // No JSON at all is refused below.
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    bad(`the key of \`${name}\` travels in \`${place.name}\` of the body, which has to be a JSON object`);
  }
  if (!Object.hasOwn(value, place.name)) return { frozen };
  const brought = (value as Record<string, unknown>)[place.name];
  return mayBring ? { frozen, brought: brought as string } : taken(`the body of \`${name}\``, place.name);
}

function taken(what: string, name: string): never {
  return bad(`${what} holds ${name}, which is samekey's to set; pass { key } instead`);
}

/** Whether the API takes such a key, and the URL has room for it. */
function checkFit(key: string, { operation, request, place }: Draft, length = 255): void {
  const { profile } = operation;
  if (place.place === "query" && new URL(request.url).searchParams.has(place.name)) taken("the URL", place.name);
  const format = profile?.keyFormat;
  if (key.length <= length && (format === undefined || key.search(format) >= 0)) return;
  const form = format ? ` of the form ${format}` : "";
  bad(`${profile?.name} takes keys of at most ${length} characters${form}; ${JSON.stringify(key)} is none`);
}

function validate(operation: ResolvedOperation, input: unknown): unknown {
  const schema = operation.options.body;
  if (!schema) return input;
  const result = schema["~standard"].validate(input);
  if (result instanceof Promise) {
    result.catch(() => {});
    bad(`\`operations.${operation.name}.body\` validates asynchronously; a call is synchronous`);
  }
  if (!result.issues) return result.value;
  const { fields, told } = readIssues(result.issues, "body");
  const detail = `the body of \`${operation.name}\` does not fit its schema: ${told}`;
  throw new MisuseError("bad_option", { detail, fields, cause: result.issues });
}

function pathOf(operation: ResolvedOperation, input: unknown): string {
  const path = operation.definition?.path;
  const written: unknown = typeof path === "function" ? path(input as never) : path;
  return typeof written === "string" ? written : bad(`the path of \`${operation.name}\` is not a string`);
}

/** A path below `baseUrl`, whether or not it begins with a slash; what is absolute stays as it is. */
export function joinUrl(baseUrl: string | undefined, written: string, name: string): string {
  if (/^https?:\/\//i.test(written)) return written;
  if (baseUrl === undefined) bad(`\`baseUrl\` is missing, so ${JSON.stringify(written)} of \`${name}\` leads nowhere`);
  const [base = "", query = ""] = baseUrl.split("?", 2);
  return `${base.replace(/\/$/, "")}/${written.replace(/^\//, "")}${query && `${written.includes("?") ? "&" : "?"}${query}`}`;
}

interface Target {
  readonly baseUrl: string | undefined;
  readonly written: string;
  readonly href: string;
  readonly origin: string;
}

/** The latest one: programs send to the same place again and again, and to read a URL costs more than to mint a key. */
let latest: Target | undefined;

/** Credentials in a URL would be at rest, and `fetch` refuses them anyway. */
function resolveUrl(baseUrl: string | undefined, written: string, name: string): Target {
  if (latest?.written === written && latest.baseUrl === baseUrl) return latest;
  const given = joinUrl(baseUrl, written, name);
  const url = URL.canParse(given) ? new URL(given) : bad(`${JSON.stringify(given)} is no URL`);
  if (url.username || url.password) bad("the URL holds a user name or password; pass credentials from `headers()`");
  latest = { baseUrl, written, href: url.href, origin: url.origin };
  return latest;
}

function text(value: unknown, option: string): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "string" && value !== "" && value.length <= 1024) return value;
  return bad(`\`${option}\` is ${JSON.stringify(value)}, expected a text of 1 to 1024 characters`);
}
