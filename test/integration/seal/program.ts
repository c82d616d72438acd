/** Records one transfer and drives it, or drives on what an earlier run has left. */

import process from "node:process";
import { createSdk, post } from "samekey";
import { type GivenKey, webCryptoSeal } from "samekey/seal";
import { sqliteStore } from "samekey/stores/sqlite";

/** What the program tells. */
export interface Told {
  readonly what: "settled" | "blocked";
  readonly data?: unknown;
  readonly error?: string;
}

/** What it is told. */
export interface Task {
  readonly baseUrl: string;
  readonly path: string;
  readonly driver: "better-sqlite3" | "node:sqlite";
  /** The keys' ids, the first one seals; none for no seal. */
  readonly keys: readonly string[];
  /** To be recorded; nothing for whatever is there. */
  readonly body?: unknown;
}

const { baseUrl, path, driver, keys, body } = JSON.parse(process.argv[2] ?? "") as Task;
const tell = (message: Told): void => void process.send?.(message);

/** The same key for the same id, in every run. */
const named = (id: string): GivenKey => ({ id, key: new Uint8Array(32).fill(id.charCodeAt(0)) });
const [first, ...older] = keys.map(named);

const sdk = createSdk({
  name: "sealed",
  baseUrl,
  owner: "single",
  retention: "24h",
  store: sqliteStore({ path, driver }),
  seal: first && webCryptoSeal({ ...first, older }),
  retry: { base: "20ms", cap: "50ms", backgroundCap: "50ms" },
  operations: { transfer: post<unknown, unknown>("/transfers") },
});
const intent = "order-1";
const handle =
  body === undefined ? sdk.attach({ name: "transfer", intent }) : sdk.operation("transfer", body, { intent });
setInterval(() => {}, 60_000);
// Whoever waits for a success is told while it is being written; the test looks at what is.
const stored = new Promise((resolve) => sdk.on("settled", resolve));
handle.send().then(
  ({ data }) => void stored.then(() => tell({ what: "settled", data })),
  (error: Error) => tell({ what: "blocked", error: error.message }),
);
