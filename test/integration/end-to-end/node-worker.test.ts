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

/** A short run, to its end. */
async function runWith(input: string, env: Readonly<Record<string, string | undefined>>) {
  const child = spawn(process.execPath, [program.path], { env: { ...process.env, API_TOKEN: undefined, ...env } });
  children.add(child);
  const [output, errors, exit] = [text(child.stdout), text(child.stderr), once(child, "exit")];
  // One that refuses to start does not read.
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  const [code] = await exit;
  children.delete(child);
  return { code, output: await output, errors: (await errors).trimEnd().split("\n") };
}

const job = (id: string, amount: number): string => JSON.stringify({ id, transfer: { src: 8842, dst: 1190, amount } });

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

it("says what is blocked, fails, and does it once there is a token, whichever run that is", async () => {
  const [id, STORE] = ["payout-9017", join(directory, "blocked.sqlite")];
  const without = await runWith(`${job(id, 9017)}\n`, { API_URL: server.url, STORE });
  expect(without).toMatchObject({ code: 1, output: "" });
  expect(without.errors).toContain(`${id} is blocked: credentials`);
  expect(without.errors).toContainEqual(expect.stringMatching(/^resumed: \{.*"blocked":[1-9],.*\}$/));
  expect(without.errors).toContainEqual(expect.stringMatching(`^${id} is left blocked: see sdk.get`));

  // Nothing is asked of it any more, and the job of that run is done all the same.
  const signedIn = await runWith("", { API_URL: server.url, STORE, API_TOKEN: "t0k3n" });
  expect(signedIn.code).toBe(0);
  expect(JSON.parse(signedIn.output)).toMatchObject({ id, state: "succeeded" });
});

it("tells of a line that is no job by its number, and does the others", async () => {
  const input = `${job("payout-9021", 9021)}\n\n{"id":\n{"transfer":{}}\n${job("payout-9022", 9022)}\n`;
  const STORE = join(directory, "lines.sqlite");
  const { code, output, errors } = await runWith(input, { API_URL: server.url, STORE, API_TOKEN: "t0k3n" });
  expect(code).toBe(1);
  expect(errors).toContainEqual(expect.stringMatching(/^line 3 was not recorded: .*JSON/));
  expect(errors).toContainEqual(expect.stringMatching(/^line 4 was not recorded: .*requires an intent/));
  expect(output.trimEnd().split("\n")).toHaveLength(2);
});

it("refuses to start without API_URL, in one line", async () => {
  const { code, output, errors } = await runWith("", { API_URL: undefined });
  expect({ code, output }).toEqual({ code: 1, output: "" });
  expect(errors).toEqual([expect.stringMatching(/^API_URL is missing/)]);
});
