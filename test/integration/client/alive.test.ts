import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { type Bundle, bundle } from "../../support/bundle.js";
import { type Child, startChild } from "../../support/child.js";
import { type HttpServer, startHttpServer } from "./http-server.js";

let program: Bundle;
let directory: string;
let server: HttpServer;
let child: Child<string> | undefined;

beforeAll(async () => {
  [program, directory] = await Promise.all([
    bundle(new URL("alive.ts", import.meta.url)),
    mkdtemp(join(tmpdir(), "samekey-alive-")),
  ]);
});

afterEach(async () => {
  await child?.crash();
  await server.close();
});

afterAll(async () => {
  program?.remove();
  await rm(directory, { recursive: true, force: true });
});

async function run(mode: string, retryAfter: number): Promise<{ told: readonly string[]; took: number }> {
  let calls = 0;
  server = await startHttpServer((_, response) => {
    calls++;
    if (calls === 1) response.writeHead(503, { "retry-after": String(retryAfter) }).end();
    else response.writeHead(201, { "content-type": "application/json" }).end("{}");
  });
  const began = performance.now();
  child = startChild<string>(program.path, { args: [mode, server.url, join(directory, `${mode}.sqlite`)] });
  await child.ended();
  return { told: child.messages, took: performance.now() - began };
}

test("start(): its timers do not keep the process alive", async () => {
  const { told, took } = await run("start", 60);
  expect(told).toEqual(["saved"]);
  expect(took).toBeLessThan(20_000);
});

test("a waiting send does, between its attempts too", async () => {
  expect((await run("send", 1)).told).toEqual(["sent"]);
  expect(server.requests).toHaveLength(2);
});

test("once its waiting is over it does not", async () => {
  const { told, took } = await run("wait", 60);
  expect(told).toEqual(["pending"]);
  expect(took).toBeLessThan(20_000);
});

test("of several, the last one does when the others have ended", async () => {
  expect((await run("several", 1)).told).toEqual(["pending", "pending", "sent"]);
  expect(server.requests).toHaveLength(2);
});

test("a resume does, as long as it waits", async () => {
  expect((await run("resume", 1)).told).toEqual(["succeeded 1"]);
});
