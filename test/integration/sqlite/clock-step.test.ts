import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type Bundle, bundle } from "../../support/bundle.js";
import { type Child, startChild } from "../../support/child.js";
import type { Order } from "./stepped-worker.js";
import { directory, later, opened } from "./tools.js";

interface Told {
  readonly order: Order["type"];
  readonly answer?: unknown;
}

let program: Bundle;
beforeAll(async () => {
  program = await bundle(new URL("stepped-worker.ts", import.meta.url));
});
afterAll(() => program.remove());

/** A server that holds back what it answers to `slow`. */
async function startServer() {
  const bodies: string[] = [];
  const held: ServerResponse[] = [];
  const answer = (response: ServerResponse): void => {
    response.writeHead(201, { "idempotency-status": "executed", "content-type": "application/json" }).end("{}");
  };
  const server = createServer(async (request, response) => {
    const body = await text(request);
    bodies.push(body);
    if (body === "slow") held.push(response);
    else answer(response);
  }).listen(0, "127.0.0.1");
  await vi.waitFor(() => expect(server.listening).toBe(true));
  later(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, bodies, answerHeld: () => held.splice(0).forEach(answer) };
}

const HOUR = 3_600_000;

// Elsewhere nothing tells which processes go by one steady clock, and leases are judged by the clock on the wall.
describe.skipIf(process.platform !== "linux")("while an attempt is under way the machine's clock", () => {
  it.each([
    ["an hour ahead", HOUR],
    ["an hour back", -HOUR],
  ])("is put %s: no other process sends it, and nobody can give it up", { timeout: 90_000 }, async (_, ms) => {
    const server = await startServer();
    const path = join(directory(), "store.sqlite");
    const start = (): Child<Told> => {
      const child = startChild<Told>(program.path, { args: [path, server.url] });
      later(() => child.process.kill("SIGKILL"));
      return child;
    };
    const [one, other] = [start(), start()];
    const order = (child: Child<Told>, given: Order): void => void child.process.send(given);
    const done = async (child: Child<Told>, type: Order["type"]): Promise<unknown> => {
      return (await child.told((told) => told.order === type)).answer;
    };
    order(one, { type: "send", body: "slow" });
    await vi.waitFor(() => expect(server.bodies).toEqual(["slow"]), 30_000);
    for (const child of [one, other]) order(child, { type: "step", ms });
    await Promise.all([done(one, "step"), done(other, "step")]);

    const store = await opened({ path });
    const [{ id } = { id: "" }] = await store.page({});
    order(other, { type: "discard", id });
    expect(await done(other, "discard")).toBe("in_flight");
    // Whoever claims this one has looked at the other.
    order(other, { type: "leave", body: "next" });
    await vi.waitFor(() => expect(server.bodies).toContain("next"), 30_000);
    await vi.waitFor(async () => expect(await store.counts()).toMatchObject({ succeeded: 1 }), 30_000);
    server.answerHeld();
    expect(await done(one, "send")).toBe(1);
    expect(server.bodies).toEqual(["slow", "next"]);
    await store.close();
  });
});
