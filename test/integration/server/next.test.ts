import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { v7 } from "uuid";
import { afterAll, beforeAll, expect, it } from "vitest";
import { send } from "../../support/raw-http.js";
import { type Fixture, startFixture } from "./fixture.js";

let fixture: Fixture;
let next: ChildProcess;
let url: string;

beforeAll(async () => {
  fixture = await startFixture();
  const program = createRequire(import.meta.url).resolve("next/dist/bin/next");
  const example = fileURLToPath(new URL("../../../examples/next", import.meta.url));
  next = spawn(process.execPath, [program, "dev", example, "--hostname", "127.0.0.1", "--port", "0"], {
    env: { ...process.env, NODE_ENV: "development", NEXT_TELEMETRY_DISABLED: "1", DATABASE_URL: fixture.url },
    stdio: ["ignore", "pipe", "inherit"],
  });
  for await (const line of createInterface(next.stdout as NodeJS.ReadableStream)) {
    url = /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0] ?? url;
    if (line.includes("Ready")) break;
  }
  // Unread, its log would stop it.
  next.stdout?.resume();
}, 120_000);

afterAll(async () => {
  const exit = once(next, "exit");
  next.kill("SIGTERM");
  await exit;
  await fixture.stop();
});

const post = async (path: string, key: string, body: string) => {
  const headers = { "content-type": "application/json", authorization: "Bearer dev-alice", "idempotency-key": key };
  const answer = await send(`${url}${path}`, { headers, body });
  return { ...answer, mark: answer.headers["idempotency-status"]?.[0], text: answer.body.toString() };
};

it("a route handler of Next.js runs once and is replayed", async () => {
  const key = v7();
  const body = '{ "amount": 2500 }';
  const first = await post("/transfers", key, body);
  const again = await post("/transfers", key, body);
  expect([first.status, first.mark, first.text]).toEqual([201, "executed", '{"amount":2500}']);
  expect([again.status, again.mark, again.text]).toEqual([201, "replayed", first.text]);
  expect(again.headers["location"]).toEqual([`/transfers/${key}`]);
  expect((await post("/transfers", key, '{"amount":2500}')).status).toBe(422);
  expect(await fixture.effects(key)).toBe(1);
});

it("Next.js passes a route its parameters, and its refusals are stored", async () => {
  const key = v7();
  expect((await post("/payments/p_7/refunds", key, "{}")).text).toBe('{"refunded":"p_7"}');
  const wrong = v7();
  expect((await post("/transfers", wrong, "{}")).mark).toBe("executed");
  expect((await post("/transfers", wrong, "{}")).mark).toBe("replayed");
});

it("Next.js serves the contract", async () => {
  const answer = await send(`${url}/.well-known/idempotency`, { method: "GET" });
  expect([answer.status, JSON.parse(answer.body.toString()).retention]).toEqual([200, 86_400]);
});
