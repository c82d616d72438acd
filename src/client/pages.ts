import type { OperationRecord } from "../core/record.js";
import type { PageFilter, Store } from "../store.js";

/** Everything that a filter meets, page by page in `seq` order; `limit` is the length of a page. */
export async function* pages(store: Store, filter: PageFilter): AsyncGenerator<readonly OperationRecord[], void> {
  for (let { after } = filter; ; ) {
    const records = await store.page({ ...filter, after });
    after = records.at(-1)?.seq;
    if (after === undefined) return;
    yield records;
  }
}
