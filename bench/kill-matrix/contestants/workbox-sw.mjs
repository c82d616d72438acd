// The service worker: a queue for what fails, replayed at every sync event.
import { Queue } from "workbox-background-sync";
import { registerRoute } from "workbox-routing";
import { NetworkOnly } from "workbox-strategies";

/** In minutes: what has become too old for its key is not sent any more. */
const maxRetentionTime = (Number(new URL(self.location.href).searchParams.get("window")) * 0.9) / 60_000;
const again = (status) => status >= 500 || [408, 409, 425, 429].includes(status);

async function tell(request, state) {
  const { order } = await request.json();
  for (const client of await self.clients.matchAll({ includeUncontrolled: true })) client.postMessage({ order, state });
}

/** As the default does, but with an eye on the status: an answer 503 is no delivery. */
async function replay({ queue }) {
  for (let entry = await queue.shiftRequest(); entry; entry = await queue.shiftRequest()) {
    try {
      const response = await fetch(entry.request.clone());
      if (again(response.status)) throw new Error("the server could not do it now");
      await tell(entry.request.clone(), response.ok ? "succeeded" : "failed");
    } catch (error) {
      await queue.unshiftRequest(entry);
      throw error;
    }
  }
}

const queue = new Queue("transfers", { onSync: replay, maxRetentionTime });
const queueing = { fetchDidFail: ({ request }) => queue.pushRequest({ request }) };
const statuses = {
  fetchDidSucceed({ response }) {
    if (again(response.status)) throw new Error("the server could not do it now");
    return response;
  },
};
registerRoute(/\/transfers$/, new NetworkOnly({ plugins: [queueing, statuses] }), "POST");

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("message", (event) => {
  const orders = async () => {
    const entries = await queue.getAll();
    const bodies = await Promise.all(entries.map(({ request }) => request.clone().json()));
    event.ports[0].postMessage(bodies.map(({ order }) => order));
  };
  event.waitUntil(orders());
});
