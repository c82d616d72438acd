import type { OperationRecord } from "../core/record.js";
import type { Clock, PageFilter } from "../store.js";

/** Between two rounds, and after a page that had nothing, in milliseconds. */
const REST = 10_000;
/** Few: they are read with their bodies, time and again. */
const PAGE = 100;

type Page = (filter: PageFilter) => Promise<readonly OperationRecord[]>;

/** Goes round what is blocked, for what another program could not open and this one can. */
export class Openable {
  readonly #page: Page;
  #after: number | undefined;
  #looking = false;
  #looked = Number.NEGATIVE_INFINITY;

  /** @param page - of records as they are seen here, opened where that can be done */
  constructor(page: Page) {
    this.#page = page;
  }

  async next(clock: Pick<Clock, "now">): Promise<readonly OperationRecord[]> {
    if (this.#looking || Math.abs(clock.now() - this.#looked) < REST) return [];
    this.#looking = true;
    try {
      return await this.#look(clock);
    } finally {
      this.#looking = false;
    }
  }

  async #look(clock: Pick<Clock, "now">): Promise<readonly OperationRecord[]> {
    const records = await this.#page({ states: ["blocked"], after: this.#after, limit: PAGE });
    const found = records.filter(({ blockedBy, request }) => blockedBy === "sealed" && !request.sealed);
    const isWhole = records.length === PAGE;
    this.#after = isWhole ? records.at(-1)?.seq : undefined;
    if (!isWhole || found.length === 0) this.#looked = clock.now();
    return found;
  }
}
