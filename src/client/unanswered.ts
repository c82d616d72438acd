import { sameRequest } from "../core/compare.js";
import { isUncertain, type OperationRecord } from "../core/record.js";
import type { Draft } from "./draft.js";

/** How long a call without an answer is remembered, in milliseconds. Libraries wait a few seconds between their tries. */
const REMEMBERED = 60_000;
const MOST = 100;

/** What {@link Unanswered} asks of its surroundings. */
export interface UnansweredParts {
  readonly now: () => number;
  readonly get: (id: string) => Promise<OperationRecord | undefined>;
}

/**
 * Calls that named neither a key nor an intent and ended without an answer, although their operations may live on. A
 * library that retries would make another operation of each; so the same call, made soon after, is taken for a retry.
 */
export class Unanswered {
  readonly #parts: UnansweredParts;
  #calls: { readonly draft: Draft; readonly until: number }[] = [];

  constructor(parts: UnansweredParts) {
    this.#parts = parts;
  }

  /** The draft, under the id of the operation whose retry it is. */
  async rejoin(draft: Draft, headers: Headers): Promise<Draft> {
    // Who counts his tries and makes the first one means another operation.
    if (this.#calls.length === 0 || headers.get("x-stainless-retry-count") === "0") return draft;
    this.#forget();
    const found = this.#calls.find((call) => isSame(call.draft, draft));
    if (!found) return draft;
    // Each is one call's: several alike have several retries.
    this.#calls = this.#calls.filter((call) => call !== found);
    const { id } = found.draft;
    const record = await this.#parts.get(id).catch((error: unknown) => {
      this.#calls = [...this.#calls, found];
      throw error;
    });
    return record && !isFree(record) ? { ...draft, id, mintedId: false } : draft;
  }

  /** The call has ended without an answer. */
  note(draft: Draft): void {
    this.#forget();
    this.#calls = [...this.#calls, { draft, until: this.#parts.now() + REMEMBERED }].slice(-MOST);
  }

  #forget(): void {
    const now = this.#parts.now();
    // A clock that was set back must not make them last.
    this.#calls = this.#calls.filter(({ until }) => now < until && until <= now + REMEMBERED);
  }
}

function isSame(a: Draft, b: Draft): boolean {
  return a.owner === b.owner && a.lane === b.lane && sameRequest(a.request, b.request);
}

/** The caller knows that nothing was applied, or someone has said what was: the same call is another operation. */
function isFree(record: OperationRecord): boolean {
  if (record.resolution) return true;
  // A 422 was told as what it is.
  const isMisuse =
    record.state === "blocked" && record.blockedBy === "refused" && record.code !== "refused_while_uncertain";
  return ["expired", "canceled", "misused"].includes(record.state) || (isMisuse && !isUncertain(record));
}
