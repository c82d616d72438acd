import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Bundle, bundle } from "../support/bundle.js";
import { type ObservedServer, startObservedServer } from "../support/observed-server.js";

const canTrace = spawnSync("strace", ["-o", "/dev/null", "true"]).status === 0;
if (!canTrace) console.warn("what is synced before a request is not looked at: no strace here");

let worker: Bundle;
let server: ObservedServer;
let directory: string;

beforeAll(async () => {
  worker = await bundle(new URL("worker.ts", import.meta.url));
  server = await startObservedServer();
  directory = await mkdtemp(join(tmpdir(), "samekey-"));
});
afterAll(async () => {
  await worker?.remove();
  await server?.close();
  await rm(directory, { recursive: true, force: true });
});

/** Runs the worker and answers with its writes and syncs, in order. */
async function trace(): Promise<string[]> {
  const log = join(directory, "trace");
  const calls = "trace=pwrite64,pwritev,write,writev,sendto,sendmsg,fsync,fdatasync";
  const args = ["-f", "-y", "-s", "16384", "-e", calls, "-o", log];
  const child = spawn("strace", [...args, process.execPath, worker.path, server.url, join(directory, "orders.sqlite")]);
  expect(await once(child, "exit")).toEqual([0, null]);
  return (await readFile(log, "utf8")).split("\n");
}

it.runIf(canTrace)(
  "the record is written, then synced, then the first byte goes out; no secret is ever written",
  async () => {
    const calls = await trace();
    const key = server.arrivals[0]?.key ?? "";
    const sent = calls.findIndex((call) => call.includes("POST /orders"));
    const written = calls.findIndex((call) => call.includes(".sqlite-wal>") && call.includes(key));
    const lastWrite = calls
      .slice(0, sent)
      .findLastIndex((call) => /pwritev?(64)?\(\d+<[^>]*\.sqlite(-wal)?>/.test(call));
    const synced = calls
      .slice(0, sent)
      .findLastIndex((call) => /f(data)?sync\(\d+<[^>]*\.sqlite-wal>\) += 0/.test(call));

    expect(written).toBeGreaterThan(-1);
    expect(lastWrite).toBeGreaterThanOrEqual(written);
    expect(synced).toBeGreaterThan(lastWrite);
    expect(sent).toBeGreaterThan(synced);

    const secret = calls.filter((call) => call.includes("Bearer secret"));
    expect(secret.length).toBeGreaterThan(0);
    expect(secret.filter((call) => !call.includes("<socket:"))).toEqual([]);
  },
);
