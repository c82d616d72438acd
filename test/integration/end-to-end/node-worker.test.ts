import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Bundle, bundle } from "../../support/bundle.js";
import { type ObservedServer, startObservedServer } from "../../support/observed-server.js";

let program: Bundle;
let server: ObservedServer;
let directory: string;
const children = new Set<ChildProcess>();

beforeAll(async () => {
  program = await bundle(new URL("../../../examples/node-worker/worker.ts", import.meta.url));
  directory = await mkdtemp(join(tmpdir(), "samekey-"));
  server = await startObservedServer({ orderOf: ({ amount }) => `payout-${amount}`, work: () => 20 });
});
afterAll(async () => {
  for (const child of children) child.kill("SIGKILL");
  await server?.close();
  program?.remove();
  await rm(directory, { recursive: true, force: true });
});

const jobs = Array.from({ length: 100 }, (_, index) => {
  const transfer = { src: 8842, dst: 1190, amount: index + 1 };
  return JSON.stringify({ id: `payout-${index + 1}`, transfer });
}).join("\n");

/** A run of the worker, with the same jobs each time. */
function run({ more }: { more: boolean }) {
  const child = spawn(process.execPath, [program.path], {
    env: { ...process.env, API_URL: server.url, API_TOKEN: "t0k3n", STORE: join(directory, "worker.sqlite") },
    stdio: ["pipe", "pipe", "inherit"],
  });
  children.add(child);
  const output = text(child.stdout);
  const exit = once(child, "exit");
  child.stdin.write(`${jobs}\n`);
  // A queue that may still bring more keeps the worker waiting.
  if (!more) child.stdin.end();
  const ended = async () => {
    const [code, signal] = await exit;
    children.delete(child);
    const outcomes = (await output).split("\n").filter((line) => line.endsWith("}"));
    return { code, signal, outcomes: outcomes.map((line) => JSON.parse(line) as { id: string; state: string }) };
  };
  return { child, ended };
}

it("the example worker does each job once, stopped, killed and started again", async () => {
  const stopped = run({ more: true });
  server.at("committed", () => stopped.child.kill("SIGTERM"));
  const first = await stopped.ended();
  expect(first).toMatchObject({ code: 0, signal: null });
  expect(first.outcomes.length).toBeLessThan(100);

  const killed = run({ more: true });
  server.at("committed", () => killed.child.kill("SIGKILL"));
  const second = await killed.ended();

  const third = await run({ more: false }).ended();
  expect(third).toMatchObject({ code: 0, signal: null });

  expect(server.effects.size).toBe(100);
  expect([...server.effects.values()].filter((times) => times !== 1)).toEqual([]);
  const outcomes = [first, second, third].flatMap((life) => life.outcomes);
  expect(new Set(outcomes.map(({ id }) => id)).size).toBe(100);
  expect(new Set(outcomes.map(({ state }) => state))).toEqual(new Set(["succeeded"]));
});
