/** A program that tells what is published on the channels, in order. */

import { subscribe } from "node:diagnostics_channel";
import process from "node:process";
import { type ChannelMessages, createSdk, post } from "samekey";
import { sqliteStore } from "samekey/stores/sqlite";

/** What the program tells. */
export type Told =
  | { readonly channel: keyof ChannelMessages; readonly message: ChannelMessages[keyof ChannelMessages] }
  | { readonly done: string; readonly uncaught: readonly string[] };

const [mode = "", baseUrl = "", path = ""] = process.argv.slice(2);
const tell = (told: Told): void => void process.send?.(told);

const names: readonly (keyof ChannelMessages)[] = [
  "samekey:saved",
  "samekey:attempt:start",
  "samekey:attempt:end",
  "samekey:retry",
  "samekey:blocked",
  "samekey:settled",
  "samekey:unresolved",
];
for (const channel of names) {
  if (mode === "throw") {
    subscribe(channel, () => {
      throw new Error(channel);
    });
  }
  subscribe(channel, (message) => tell({ channel, message: message as ChannelMessages[typeof channel] }));
}
const uncaught: string[] = [];
if (mode === "throw") process.on("uncaughtException", ({ message }) => void uncaught.push(message));

const sdk = createSdk({
  name: "channels",
  baseUrl,
  owner: () => "owner-sentinel",
  retention: "24h",
  retry: { base: 1, cap: 2 },
  store: sqliteStore({ path }),
  headers: () => ({ authorization: "Bearer credential-sentinel" }),
  operations: {
    transfer: post<{ note: string }>("/transfers?token=query-sentinel", {
      intent: "optional",
      keepHeaders: ["x-kept"],
    }),
  },
});
const transfer = () =>
  sdk.operation(
    "transfer",
    { note: "body-sentinel" },
    { intent: "intent-sentinel", headers: { "x-kept": "kept-sentinel" } },
  );

let done: string;
if (mode === "resume") done = `${(await sdk.resume()).succeeded} succeeded`;
else {
  done = await transfer()
    .send()
    .then(
      ({ source }) => source,
      (error: { code: string }) => error.code,
    );
}
await sdk.close();
// What a subscriber throws, Node throws again in its next turn.
await new Promise((resolve) => setImmediate(resolve));
tell({ done, uncaught });
process.disconnect();
