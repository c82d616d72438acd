import type { HeaderReader } from "../core/retry-after.js";

const keptHeaders =
  /^(content-(type|language|disposition|location|range)|preference-applied|etag|last-modified|location|date|link|retry-after(-ms)?|idempotency-.*|idempotent-replayed|(x-)?request-id|x-correlation-id|(x-)?ratelimit-.*|x-should-retry)$/;

/** An answer's headers, gone through once: to ask a platform's for one takes it as long as all of this. */
export class AnswerHeaders implements HeaderReader {
  /** What is kept with the answer. An allow-list: servers answer with tokens and cookies too. */
  readonly kept: Record<string, string> = {};
  readonly #all = new Map<string, string>();

  constructor(headers: Headers) {
    headers.forEach((value, given) => {
      // Not every library's `fetch` has them in lower case.
      const name = given.toLowerCase();
      this.#all.set(name, value);
      if (keptHeaders.test(name)) this.kept[name] = value;
    });
  }

  get(name: string): string | null {
    return this.#all.get(name.toLowerCase()) ?? null;
  }
}
