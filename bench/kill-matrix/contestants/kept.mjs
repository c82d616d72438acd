/** How often what is left is tried again, in milliseconds. */
const AGAIN = 5_000;

/**
 * What a careful user writes around a client that keeps nothing: a list on disk, written before anything is sent, tried
 * again at every start and every five seconds. The key is made from the order, so that a second click, tab or life has
 * the same one. What has become too old for its key is not sent any more, but put before a person.
 *
 * @param storage - `get(order)` and `all()` answer at once; `put(entry)` may take its time until it lasts
 * @param send - sends one entry; throws where it is not known to be done
 * @param isRefusal - whether an error is the server's final no
 * @param window - how long the API remembers a key, in milliseconds
 */
export function kept({ storage, send, isRefusal, window }) {
  const underWay = new Set();

  async function drive(entry) {
    if (underWay.has(entry.order)) return;
    underWay.add(entry.order);
    try {
      await send(entry);
      await storage.put({ ...entry, state: "succeeded" });
    } catch (error) {
      if (isRefusal(error)) await storage.put({ ...entry, state: "failed" });
    } finally {
      underWay.delete(entry.order);
    }
  }

  function flush() {
    for (const entry of storage.all()) {
      if (entry.state !== "pending") continue;
      if (Date.now() - entry.at < window * 0.9) void drive(entry);
      else storage.put({ ...entry, state: "review" });
    }
  }

  setInterval(flush, AGAIN);
  flush();
  return {
    submit(order) {
      const entry = storage.get(order) ?? { order, key: `order-${order}`, at: Date.now(), state: "pending" };
      if (entry.state !== "pending") return;
      // Where storing takes no time, it is done before the call returns.
      const stored = storage.put(entry);
      void Promise.resolve(stored).then(() => drive(entry));
    },
    status: async (order) => storage.get(order)?.state ?? "none",
  };
}
