import { bad } from "./checks.js";

/** What of `fetch`'s options holds for every attempt, and what only for those of this process. */
export interface FetchTerms {
  readonly credentials: RequestCredentials | undefined;
  readonly redirect: "manual" | "same-origin";
  /** Hints on how to send: they change nothing that the server acts on, and are not kept. */
  readonly hints: RequestInit | undefined;
}

/** More is refused by browsers, on every attempt anew. */
const KEEPALIVE_MOST = 64 * 1024;

/** Reads the options of a write that is to be recorded: each with its meaning, or refused by name. */
export function readTerms(init: RequestInit, request: Request | undefined, isHere: boolean): FetchTerms {
  const mode = init.mode ?? request?.mode;
  if (mode === "no-cors") bad('`mode: "no-cors"` strips the idempotency key; use "cors"');
  if (mode === "navigate" || (mode === "same-origin" && !isHere)) bad(`\`mode: "${mode}"\` forbids this request`);
  if (init.integrity ?? request?.integrity) bad("`integrity` would reject the answer of a write that was applied");
  const cache = init.cache ?? request?.cache;
  if (cache === "only-if-cached") bad('`cache: "only-if-cached"` forbids to send');
  const { duplex } = init as { duplex?: unknown };
  if (duplex !== undefined && duplex !== "half") bad('`duplex` is "half": a body is read before it is sent');
  const redirect = init.redirect ?? request?.redirect ?? "follow";
  // A Request always names them: its default is no wish.
  const wished = request?.credentials === "same-origin" ? undefined : request?.credentials;
  return {
    credentials: init.credentials ?? wished,
    redirect: redirect === "follow" ? "same-origin" : "manual",
    hints: hintsOf(init, request),
  };
}

/** What they are when nobody has said anything, in a Request. */
const silent: readonly unknown[] = [undefined, false, "", "default", "about:client", "auto"];

/** Node knows a dispatcher, browsers do not. */
type Hinting = Omit<RequestInit, "dispatcher"> & { readonly dispatcher?: unknown };

function hintsOf(init: RequestInit, request: Request | undefined): RequestInit | undefined {
  const hints: Record<string, unknown> = {};
  for (const name of ["keepalive", "cache", "referrer", "referrerPolicy", "priority", "dispatcher"] as const) {
    const value = (init as Hinting)[name] ?? (request as Hinting | undefined)?.[name];
    if (!silent.includes(value)) hints[name] = value;
  }
  return Object.keys(hints).length > 0 ? hints : undefined;
}

/** The hints for a body of this size. */
export function hintsFor(hints: RequestInit | undefined, size: number): RequestInit | undefined {
  return hints?.keepalive && size > KEEPALIVE_MOST ? { ...hints, keepalive: false } : hints;
}
