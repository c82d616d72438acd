import type { OperationRecord } from "../core/record.js";
import { PendingError } from "../errors.js";
import type { Journal } from "./journal.js";
import type { ResolvedOptions } from "./options.js";
import type { Platform } from "./platform-port.js";

/** So many attempts in a row that nobody answered are looked into. */
const SUSPICIOUS = 5;

/**
 * Tells why nobody answers, where the platform can find it out. A browser shows a page the same error for a refused CORS
 * preflight, which no retry will change, and for a lost connection. It is a guess, so the operation goes on.
 */
export class Diagnosis {
  readonly #options: ResolvedOptions;
  readonly #platform: Platform;
  readonly #journal: Journal;
  readonly #fetch: typeof globalThis.fetch;
  readonly #asked = new Map<string, Promise<string | undefined>>();

  constructor(options: ResolvedOptions, platform: Platform, journal: Journal, fetch: typeof globalThis.fetch) {
    this.#options = options;
    this.#platform = platform;
    this.#journal = journal;
    this.#fetch = fetch;
  }

  /** Looks at a record whose attempt has ended, and tells those who wait for it. Once per origin until it answers. */
  async consider(record: OperationRecord): Promise<void> {
    const { origin, history, wire, id, name } = record;
    if (history.at(-1)?.status) this.#asked.delete(origin);
    if (record.state !== "pending") return;
    const silent = history.slice(-SUSPICIOUS).filter(({ status, cause }) => !status && cause === "TypeError");
    if (silent.length < SUSPICIOUS) return;
    const known = this.#asked.has(origin);
    const asked = this.#asked.get(origin) ?? this.#platform.explainSilence?.(origin, wire.name, this.#fetch);
    if (!asked) return;
    this.#asked.set(origin, asked);
    const reason = await asked;
    if (reason === undefined) return void this.#asked.delete(origin);
    if (!known) this.#options.log({ level: "warn", message: reason, id, name });
    for (const live of this.#journal.livesOf(id)) {
      live.tell(new PendingError("pending", { id, record, detail: reason }));
    }
  }
}
