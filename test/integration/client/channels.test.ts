import { mkdtemp, rm } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { type Bundle, bundle } from "../../support/bundle.js";
import { type Child, startChild } from "../../support/child.js";
import type { Told } from "./channels.js";
import { type HttpServer, startHttpServer } from "./http-server.js";

let program: Bundle;
let directory: string;
let server: HttpServer;
const children: Child<Told>[] = [];

beforeAll(async () => {
  program = await bundle(new URL("channels.ts", import.meta.url));
});

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "samekey-channels-"));
});

afterEach(async () => {
  await Promise.all(children.splice(0).map((child) => child.crash()));
  await server.close();
  await rm(directory, { recursive: true, force: true });
});

afterAll(() => program?.remove());

const json = { "content-type": "application/json", "set-cookie": "session=cookie-sentinel" };
const created = (response: ServerResponse, headers = {}): void =>
  void response.writeHead(201, { ...json, ...headers }).end('{"id":"answer-sentinel"}');

function start(mode: string): Child<Told> {
  const child = startChild<Told>(program.path, { args: [mode, server.url, join(directory, "store.sqlite")] });
  children.push(child);
  return child;
}

async function run(mode: string): Promise<readonly Told[]> {
  const child = start(mode);
  await child.ended();
  return child.messages;
}

const onChannels = (told: readonly Told[]) => told.flatMap((one) => ("channel" in one ? one : []));
const inOrder = (told: readonly Told[]): string[] =>
  onChannels(told).map(({ channel, message }) =>
    ["verdict" in message && message.verdict, `${channel} ${message.attempts}`].filter(Boolean).reverse().join(" "),
  );

/** Two answers that ask to come again, then one that settles it. */
async function startBusyServer(): Promise<void> {
  server = await startHttpServer((_, response) => {
    if (server.requests.length <= 2) response.writeHead(503, json).end('{"why":"answer-sentinel"}');
    else created(response, { "idempotency-replayed": "true" });
  });
}

const withTwoRetries = [
  "samekey:saved 1",
  "samekey:attempt:start 1",
  "samekey:attempt:end 1 retry",
  "samekey:retry 1",
  "samekey:attempt:start 2",
  "samekey:attempt:end 2 retry",
  "samekey:retry 2",
  "samekey:attempt:start 3",
  "samekey:attempt:end 3 succeeded",
  "samekey:settled 3",
];

describe("the channels of diagnostics_channel", () => {
  it("tell of a send with two retries in the order in which it happens", async () => {
    await startBusyServer();
    const told = await run("send");
    expect(inOrder(told)).toEqual(withTwoRetries);
    const url = `${server.url}/transfers`;
    const [first] = onChannels(told);
    expect(first?.message).toEqual({
      sdk: "channels",
      id: expect.any(String),
      operation: "transfer",
      state: "pending",
      attempts: 1,
      method: "POST",
      url,
      createdAt: expect.any(Number),
    });
    const of = (channel: string) => onChannels(told).filter((one) => one.channel === channel);
    expect(of("samekey:attempt:end").map(({ message }) => message)).toMatchObject([
      { state: "pending", status: 503, replayed: false, ms: expect.any(Number) },
      { state: "pending", status: 503, replayed: false },
      { state: "pending", status: 201, replayed: true },
    ]);
    expect(of("samekey:retry")[0]?.message).toMatchObject({ delay: expect.any(Number) });
    expect(of("samekey:settled")[0]?.message).toMatchObject({
      state: "succeeded",
      status: 201,
      source: "replayed",
      ms: expect.any(Number),
    });
    expect(new Set(onChannels(told).map(({ message }) => message.id)).size).toBe(1);
  });

  it("tell nothing of bodies, headers, keys, intents, owners and queries", async () => {
    await startBusyServer();
    const told = JSON.stringify(onChannels(await run("send")));
    const { headers, body, url } = server.requests[0] ?? {};
    // It was all there to be told.
    for (const what of ["credential", "kept", "body", "query"]) {
      expect(JSON.stringify([headers, body, url])).toContain(`${what}-sentinel`);
    }
    expect(told).not.toContain("sentinel");
    expect(told).not.toContain(String(headers?.["idempotency-key"]));
  });

  it("tell in a new process of the attempt after a crash, under the same id", async () => {
    server = await startHttpServer((_, response) => {
      // Never an answer to the first.
      if (server.requests.length > 1) created(response);
    });
    const crashed = start("send");
    await vi.waitFor(() => expect(server.requests).toHaveLength(1), { timeout: 60_000 });
    await crashed.told((one) => "channel" in one && one.channel === "samekey:attempt:start");
    await crashed.crash();
    expect(inOrder(crashed.messages)).toEqual(["samekey:saved 1", "samekey:attempt:start 1"]);

    const told = await run("resume");
    expect(told.at(-1)).toEqual({ done: "1 succeeded", uncaught: [] });
    expect(inOrder(told)).toEqual(["samekey:attempt:start 2", "samekey:attempt:end 2 succeeded", "samekey:settled 2"]);
    const ids = [...onChannels(crashed.messages), ...onChannels(told)].map(({ message }) => message.id);
    expect(new Set(ids).size).toBe(1);
  });

  it("tell what it waits for when it is blocked", async () => {
    server = await startHttpServer((_, response) => void response.writeHead(401).end());
    const told = onChannels(await run("send"));
    expect(told.at(-1)).toMatchObject({
      channel: "samekey:blocked",
      message: { state: "blocked", blockedBy: "credentials" },
    });
  });

  it("carry on when a subscriber throws: the operation is settled, others hear all, Node throws it again", async () => {
    await startBusyServer();
    const told = await run("throw");
    expect(inOrder(told)).toEqual(withTwoRetries);
    expect(told.at(-1)).toEqual({
      done: "replayed",
      uncaught: withTwoRetries.map((line) => line.split(" ")[0]),
    });
    expect(server.requests).toHaveLength(3);
  });
});
