// The page in front of the service worker that has workbox-background-sync.
import { told } from "./told.mjs";

export async function open({ window }) {
  const calls = told();
  const { serviceWorker } = navigator;
  serviceWorker.addEventListener("message", ({ data: { order, state } }) => calls.set(order, state));
  await serviceWorker.register(`sw.js?window=${window}`);
  await serviceWorker.ready;
  if (!serviceWorker.controller) {
    await new Promise((resolve) => serviceWorker.addEventListener("controllerchange", resolve, { once: true }));
  }

  async function send(order) {
    const headers = { "content-type": "application/json", "idempotency-key": `order-${order}` };
    const response = await fetch("/transfers", { method: "POST", headers, body: JSON.stringify({ order }) });
    if (!response.ok) throw new Error("refused");
    await response.json();
  }

  /** The orders that stand in the queue. */
  function queued() {
    return new Promise((resolve) => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = ({ data }) => resolve(data);
      serviceWorker.controller.postMessage("queued?", [port2]);
    });
  }

  return {
    submit: (order) => calls.follow(order, send(order)),
    async status(order) {
      const said = calls.status(order);
      if (said === "succeeded" || said === "pending") return said;
      return (await queued()).includes(order) ? "pending" : calls.status(order);
    },
  };
}
