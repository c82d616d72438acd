import type { OperationRecord } from "../../../src/core/record.js";
import type { Invariant } from "./invariant.js";

export const credentials: Invariant = {
  name: "I8",
  says: "credentials are never at rest, and asked for before every attempt",
  watch: (facts) => {
    const issued = new Map<string, { readonly id: string; readonly who: string }>();
    const used = new Map<string, number>();
    return (event) => {
      if (event.what === "credentials" && event.token !== null) issued.set(event.token, event);
      if (event.what === "write" && event.after && holdsSecret(event.after)) return `${event.id} holds credentials`;
      if (event.what !== "fetch") return undefined;
      const { token, who, durable, request } = event;
      const given = issued.get(token);
      if (!given || given.who !== who) return `request ${request} carries ${token}, which nobody gave`;
      if (durable && given.id !== durable.id) return `request ${request} carries the credentials of ${given.id}`;
      if (durable && !facts.wasHandedInFlight(durable.id, who) && !token.startsWith(`secret-${durable.owner}-`))
        return `request ${request} of ${durable.owner} carries ${token}`;
      const earlier = used.get(token);
      used.set(token, request);
      const before = facts.requests.get(earlier ?? request)?.ending;
      const isRedirected = before?.how === "answer" && before.status >= 300 && before.status < 400;
      if (earlier === undefined || isRedirected) return undefined;
      return `request ${request} carries the credentials of request ${earlier}`;
    };
  },
};

function holdsSecret({ request, response, history }: OperationRecord): boolean {
  return JSON.stringify([request.headers, request.url, response?.headers, history]).includes("secret-");
}
