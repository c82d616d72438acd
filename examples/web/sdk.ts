import { createSdk, post } from "samekey";

export interface Transfer {
  readonly src: number;
  readonly dst: number;
  readonly amount: number;
}

/** What the reference server answers with. */
export interface Receipt extends Transfer {
  readonly transfer: string;
}

/** The page's Sdk. `baseUrl` is the page's own origin; the records are in this browser's IndexedDB. */
export const sdk = createSdk({
  name: "web-example",
  owner: "single",
  retention: "24h",
  operations: { transfer: post<Transfer, Receipt>("/transfers", { intent: "required" }) },
});
