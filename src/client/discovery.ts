import { decode } from "../core/body.js";
import { changed } from "../core/fields.js";
import { hasOutcome, type OperationRecord } from "../core/record.js";
import type { ResolvedOptions } from "./options.js";
import { readResponse } from "./read-bounded.js";

const MINUTE = 60_000;
/** No contract is as long as this, in bytes. */
const LIMIT = 16_384;

/** What the server says of itself; see {@link createDiscovery}. */
export interface Discovery {
  /** The record as an attempt may begin with it: the server forgets its key no later than it says. */
  shorten(record: OperationRecord): OperationRecord;
  /** Reads it if it has not been read, or not for long. Never rejects, and nobody waits for it. */
  refresh(): Promise<void>;
  /** Nothing is read any more. */
  close(): void;
}

/**
 * Reads what the server publishes at `/.well-known/idempotency`, in the background. It is only ever believed where it
 * makes samekey more careful: a retention that is shorter than the configured one.
 */
export function createDiscovery(
  { clock, log, operations, discover }: ResolvedOptions,
  fetch: typeof globalThis.fetch,
  baseOrigin: () => string | undefined,
): Discovery {
  let retention = Number.POSITIVE_INFINITY;
  let next = discover ? 0 : Number.POSITIVE_INFINITY;
  let call: AbortController | undefined;

  async function read(url: string, signal: AbortSignal): Promise<void> {
    const response = await fetch(url, { credentials: "omit", redirect: "error", signal });
    if (response.status !== 200) throw new Error(`HTTP ${response.status}`);
    const told = await jsonOf(response);
    const seconds = told.retention as number;
    if (!Number.isFinite(seconds) || seconds <= 0) throw new Error("no `retention` in seconds");
    retention = seconds * 1000;
    // Five digits are a day.
    const [, age = 3600] = /max-age=(\d{1,5})/.exec(response.headers.get("cache-control") ?? "") ?? [];
    next = clock.now() + Math.max(Number(age) * 1000, MINUTE);
    for (const { name, header } of operations.values()) {
      const isSame = header === String(told.header).toLowerCase();
      if (!isSame) log({ level: "warn", message: `${url} wants the key elsewhere than in ${header}`, name });
    }
  }

  return {
    shorten(record) {
      const { wire, origin } = record;
      const isBound = retention < wire.retention && origin === baseOrigin() && !hasOutcome(record);
      return isBound ? changed(record, { wire: { ...wire, retention } }) : record;
    },
    async refresh() {
      const now = clock.now();
      if (call || now < next) return;
      next = now + 5 * MINUTE;
      const origin = baseOrigin();
      if (!origin) return;
      const url = `${origin}/.well-known/idempotency`;
      call = new AbortController();
      const end = (): void => call?.abort();
      clock.sleep(MINUTE / 2, call.signal, true).then(end, () => {});
      try {
        await read(url, call.signal);
      } catch (cause) {
        if (next < Number.POSITIVE_INFINITY) log({ level: "warn", message: `${url} told nothing`, cause });
      }
      end();
      call = undefined;
    },
    close() {
      next = Number.POSITIVE_INFINITY;
      call?.abort();
    },
  };
}

/** The body's JSON, unless it is longer than any contract. */
async function jsonOf(response: Response): Promise<{ readonly retention?: unknown; readonly header?: unknown }> {
  const body = await readResponse(response, LIMIT);
  if (!body) throw new Error("too long");
  return JSON.parse(decode(body));
}
