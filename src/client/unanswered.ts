import { comparableBytes } from "../core/compare.js";
import { isUncertain, type OperationRecord } from "../core/record.js";
import type { Draft } from "./draft.js";

/** How long a call without an answer is remembered, in milliseconds. Libraries wait a few seconds between their tries. */
const REMEMBERED = 60_000;

/** Headers that differ from one try of a call to the next: renewed credentials, and what names, counts, times or signs it. */
const ofTry =
  /^(cookie|date|(x-)?(request|correlation)-id)$|auth|token|api-?key|secret|[cx]srf|signature|nonce|timestamp|retry|attempt/;

/** What {@link Unanswered} asks of its surroundings. */
export interface UnansweredParts {
  readonly now: () => number;
  readonly get: (id: string) => Promise<OperationRecord | undefined>;
  readonly digest: (bytes: Uint8Array<ArrayBuffer>) => Promise<string>;
}

interface Call {
  readonly id: string;
  readonly call: string;
  readonly until: number;
}

/**
 * Calls that named neither a key nor an intent and ended without an answer, although their operations may live on. A
 * library that retries would make another operation of each; so the same call, made soon after, is taken for a retry.
 */
export class Unanswered {
  readonly #parts: UnansweredParts;
  readonly #calls = new Set<Call>();

  constructor(parts: UnansweredParts) {
    this.#parts = parts;
  }

  /** The draft, under the id of the operation whose retry it is. */
  async rejoin(draft: Draft, headers: Headers): Promise<Draft> {
    // Who counts his tries and makes the first one means another operation.
    if (this.#calls.size === 0 || headers.get("x-stainless-retry-count") === "0") return draft;
    this.#forget();
    const call = await this.#nameOf(draft);
    const found = [...this.#calls].find((one) => one.call === call);
    if (!found) return draft;
    // Each is one call's: several alike have several retries.
    this.#calls.delete(found);
    const record = await this.#parts.get(found.id).catch((error: unknown) => {
      this.#calls.add(found);
      throw error;
    });
    // Where there is none it may be about to be recorded: under the same id they are one.
    return record && isFree(record) ? draft : { ...draft, id: found.id, mintedId: false };
  }

  /** The call has ended without an answer. */
  async note(draft: Draft): Promise<void> {
    this.#forget();
    const until = this.#parts.now() + REMEMBERED;
    this.#calls.add({ id: draft.id, call: await this.#nameOf(draft), until });
  }

  /** The same for two calls that are alike: not their bytes, since in an outage there are many. */
  async #nameOf({ owner, lane, request, transient }: Draft): Promise<string> {
    const { headers, contentType, dropped } = request;
    const meant = dropped.filter((name) => !ofTry.test(name)).map((name) => [name, transient?.get(name)]);
    const body = await this.#parts.digest(comparableBytes(request));
    return JSON.stringify([owner, lane, contentType, Object.entries(headers), meant, body]);
  }

  #forget(): void {
    const now = this.#parts.now();
    for (const call of this.#calls) {
      // A clock that was set back must not make them last.
      if (call.until <= now || call.until > now + REMEMBERED) this.#calls.delete(call);
    }
  }
}

/** The caller knows that nothing was applied, or someone has said what was: the same call is another operation. */
function isFree(record: OperationRecord): boolean {
  if (record.resolution) return true;
  // A 422 was told as what it is.
  const isMisuse =
    record.state === "blocked" && record.blockedBy === "refused" && record.code !== "refused_while_uncertain";
  return ["expired", "canceled", "misused"].includes(record.state) || (isMisuse && !isUncertain(record));
}
