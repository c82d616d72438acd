// @tanstack/offline-transactions over IndexedDB, its default.
import { createCollection, localOnlyCollectionOptions } from "@tanstack/db";
import { NonRetriableError, startOfflineExecutor } from "@tanstack/offline-transactions";
import { told } from "./told.mjs";

/** What is worth another try; the rest is the server's final no. */
const again = (status) => status >= 500 || [408, 409, 425, 429].includes(status);

export async function open({ window }) {
  const calls = told();
  const transfers = createCollection(localOnlyCollectionOptions({ id: "transfers", getKey: ({ id }) => id }));
  const offline = startOfflineExecutor({
    collections: { transfers },
    mutationFns: {
      async sendTransfer({ transaction, idempotencyKey }) {
        const { id: order } = transaction.mutations[0].modified;
        const headers = { "content-type": "application/json", "idempotency-key": idempotencyKey };
        const response = await fetch("/transfers", { method: "POST", headers, body: JSON.stringify({ order }) });
        if (!response.ok && !again(response.status)) throw new NonRetriableError("refused");
        if (!response.ok) throw new Error("the server could not do it now");
        await response.json();
        calls.set(order, "succeeded");
      },
    },
    // What has become too old for its key is not sent any more, but put before a person.
    beforeRetry: (transactions) =>
      transactions.filter(({ createdAt, metadata }) => {
        const isYoung = Date.now() - createdAt.getTime() < window * 0.9;
        if (!isYoung) calls.set(metadata.order, "review");
        return isYoung;
      }),
  });
  await offline.waitForInit();

  return {
    submit(order) {
      try {
        const metadata = { order };
        const options = {
          mutationFnName: "sendTransfer",
          autoCommit: false,
          idempotencyKey: `order-${order}`,
          metadata,
        };
        const transaction = offline.createOfflineTransaction(options);
        transaction.mutate(() => transfers.insert({ id: order }));
        calls.follow(order, transaction.commit());
      } catch {
        // The collection has it already.
      }
    },
    async status(order) {
      const kept = await offline.peekOutbox();
      const isKept = kept.some(({ metadata }) => metadata?.order === order);
      const said = calls.status(order);
      return said === "succeeded" || said === "review" || !isKept ? said : "pending";
    },
  };
}
