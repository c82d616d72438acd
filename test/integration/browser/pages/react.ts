/** A shop's page in React. */

import { QueryClient, QueryClientProvider, useMutation, useMutationState } from "@tanstack/react-query";
import { createElement as h, StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { createSdk, post } from "samekey";
import { useOperation, usePendingOperations } from "samekey/react";
import { connectQueryClient, operationMutation } from "samekey/tanstack-query";
import type { Receipt, Transfer } from "./app.js";

const sdk = createSdk({
  name: "react-shop",
  owner: "single",
  retention: "24h",
  operations: { transfer: post<Transfer, Receipt>("/transfers"), refund: post<Transfer, Receipt>("/refunds") },
});
const client = new QueryClient();
connectQueryClient(sdk, client);
sdk.start();

function Shop() {
  const payment = useOperation(sdk, "transfer", { intent: "cart-1" });
  const refund = useMutation(operationMutation(sdk, "refund", { intent: "cart-0" }));
  const refunds = useMutationState({ filters: { mutationKey: ["samekey", "refund"] } });
  const pending = usePendingOperations(sdk);
  return [
    h("button", { key: 1, type: "button", id: "pay", onClick: () => payment.send({ amount: 5 }) }, "Pay"),
    h("button", { key: 2, type: "button", id: "refund", onClick: () => refund.mutate({ amount: 3 }) }, "Refund"),
    h("p", { key: 3, id: "payment" }, `${payment.state} ${JSON.stringify(payment.input)} ${payment.data?.id}`),
    h(
      "p",
      { key: 4, id: "refunds" },
      refunds.map(({ status, variables }) => status + JSON.stringify(variables)).join(),
    ),
    h("p", { key: 5, id: "pending" }, pending.map(({ name }) => name).join()),
  ];
}

const element = document.body.appendChild(document.createElement("main"));
createRoot(element).render(h(StrictMode, null, h(QueryClientProvider, { client }, h(Shop))));
