import { createSdk, post, type Sdk } from "samekey";
import { defineInspector, type SamekeyInspector } from "samekey/inspector";

declare global {
  var inspected: { readonly sdk: Sdk; readonly element: SamekeyInspector };
}

document.documentElement.lang = "en";
document.title = "Operations";

const sdk = createSdk({
  name: "inspected",
  owner: () => localStorage.getItem("user") ?? "ann",
  retention: "24h",
  retry: { base: 50, cap: 200 },
  operations: {
    transfer: post<{ amount: number; note?: string }, unknown>("/transfers"),
    // Its key is forgotten at once: what is uncertain about it becomes a dead letter.
    brief: post<{ amount: number }, unknown>("/transfers", { retention: 2_000 }),
  },
});

const element = document.createElement("samekey-inspector");
// Set before it is defined, as where a framework is faster than the script.
element.sdk = sdk;
const heading = document.createElement("h1");
heading.textContent = "Shop";
const main = document.createElement("main");
main.append(heading, element);
document.body.append(main);
defineInspector();
defineInspector();
globalThis.inspected = { sdk: sdk as unknown as Sdk, element };
