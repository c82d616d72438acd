/** A program that ends by itself as soon as nothing keeps it alive. */

import process from "node:process";
import { createSdk, post } from "samekey";
import { sqliteStore } from "samekey/stores/sqlite";

const [mode = "", baseUrl = "", path = ""] = process.argv.slice(2);
const tell = (message: string): void => void process.send?.(message);

const sdk = createSdk({
  name: "alive",
  baseUrl,
  owner: "single",
  retention: "24h",
  store: sqliteStore({ path }),
  operations: { transfer: post<{ amount: number }>("/transfers") },
});
const code = (error: { code?: string }): string => error.code ?? "none";

const modes: Record<string, () => Promise<unknown>> = {
  // Records something and drives in the background; nobody waits.
  start: async () => {
    sdk.start();
    await sdk.operation("transfer", { amount: 1 }).save();
    tell("saved");
  },
  // The server asks to come back in a second: only the waiting keeps the process alive.
  send: async () => {
    await sdk.operation("transfer", { amount: 1 }).send();
    tell("sent");
  },
  // The waiting ends; the wait for the next attempt keeps nothing alive.
  wait: async () => {
    tell(
      await sdk
        .operation("transfer", { amount: 1 })
        .send({ wait: 500 })
        .then(() => "sent", code),
    );
  },
  // Two stop waiting before the server may be asked again; the third waits on.
  several: async () => {
    const handle = sdk.operation("transfer", { amount: 1 });
    const early = [1, 2].map(() => handle.send({ wait: 200 }).then(() => "sent", code));
    const last = handle.send();
    for (const told of await Promise.all(early)) tell(told);
    await last;
    tell("sent");
  },
  resume: async () => {
    await sdk.operation("transfer", { amount: 1 }).save();
    tell(`succeeded ${(await sdk.resume()).succeeded}`);
  },
};
await modes[mode]?.();
