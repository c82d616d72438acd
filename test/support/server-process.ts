import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { bundle } from "./bundle.js";

/** The reference server in a process of its own. */
export interface ServerProcess {
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts the reference server on this database. */
export async function startServerProcess(databaseUrl: string): Promise<ServerProcess> {
  const program = await bundle(new URL("../../examples/reference-server/server.ts", import.meta.url));
  const child = spawn(process.execPath, [program.path], {
    env: { ...process.env, PORT: "0", DATABASE_URL: databaseUrl },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exit = once(child, "exit");
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    await exit;
    await program.remove();
  };
  for await (const line of createInterface(child.stdout)) {
    const url = /^listening on (\S+)$/.exec(line)?.[1];
    if (url) return { url, stop };
  }
  await stop();
  throw new Error("the reference server did not start");
}
