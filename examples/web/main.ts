import type { OperationHandle } from "samekey";
import { defineInspector, type SamekeyInspector } from "samekey/inspector";
import { type Receipt, sdk } from "./sdk.js";

const order = new URLSearchParams(location.search).get("order") ?? "1";
const element = (id: string): HTMLElement => document.getElementById(id) as HTMLElement;

element("order").textContent = order;

/** Shows where the order's payment stands, now and whenever that changes. */
function show(payment: OperationHandle<Receipt>): void {
  const render = (): void => {
    const { state, outcome, mayHaveBeenApplied } = payment.getSnapshot();
    const receipt = outcome?.state === "succeeded" ? `, receipt ${outcome.result.data.transfer}` : "";
    const doubt = mayHaveBeenApplied ? ", may have been applied" : "";
    element("state").textContent = state === "idle" ? "not paid yet" : `${state}${receipt}${doubt}`;
  };
  payment.subscribe(render);
  render();
}

function list(id: string, lines: readonly string[]): void {
  element(id).replaceChildren(
    ...lines.map((text) => {
      const item = document.createElement("li");
      item.textContent = text;
      return item;
    }),
  );
}

function showPending(): void {
  list(
    "pending",
    sdk.pending.getSnapshot().map(({ state, input, attempts }) => {
      return `${state}: ${(input as { amount: number }).amount}, ${attempts} attempts`;
    }),
  );
}

async function showSettled(): Promise<void> {
  const lines: string[] = [];
  for await (const record of sdk.list({ states: ["succeeded", "rejected"] })) {
    lines.push(`${record.state}: order ${record.intent}`);
  }
  list("settled", lines);
}

function showNetwork(): void {
  element("network").hidden = navigator.onLine;
}

element("checkout").addEventListener("submit", (event) => {
  event.preventDefault();
  const amount = Number((element("amount") as HTMLInputElement).value);
  const payment = sdk.operation("transfer", { src: 8842, dst: 1190, amount }, { intent: order });
  show(payment);
  payment.send().catch((error: Error) => {
    element("state").textContent = error.message;
  });
});

addEventListener("online", showNetwork);
addEventListener("offline", showNetwork);
sdk.pending.subscribe(showPending);
sdk.on("settled", () => void showSettled());

defineInspector();
(element("inspector") as SamekeyInspector).sdk = sdk;

showNetwork();
void showSettled();
// The same order after a reload: the payment that was under way is attached again, and goes on by itself.
show(sdk.attach({ name: "transfer", intent: order }));
sdk.start();
