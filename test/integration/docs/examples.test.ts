import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ReferenceServer, startReferenceServer } from "../../../examples/reference-server/start.js";
import { manifest, root } from "../../../scripts/entries.mjs";
import { startPostgres, type TestPostgres } from "../../support/postgres.js";

const page = readFileSync(join(root, "docs/examples.md"), "utf8");
const commands = [...page.matchAll(/^```sh\n([\s\S]*?)^```/gm)].flatMap(([, code = ""]) => code.trim().split("\n"));

let postgres: TestPostgres;
let server: ReferenceServer;
let directory: string;

beforeAll(async () => {
  postgres = await startPostgres();
  server = await startReferenceServer({ databaseUrl: postgres.url });
  directory = await mkdtemp(join(tmpdir(), "samekey-examples-"));
});

afterAll(async () => {
  await server?.close();
  await postgres?.stop();
  await rm(directory, { recursive: true, force: true });
});

test("the worker's commands make its transfer once", async () => {
  const worker = commands.filter((command) => command.includes("jobs"));
  expect(worker).toHaveLength(3);
  const script = worker
    .join("\n")
    .replaceAll("http://127.0.0.1:3000", server.url)
    .replaceAll(/\bjobs\b/g, '"$JOBS"');
  const env = { ...process.env, JOBS: join(directory, "jobs"), STORE: join(directory, "worker.sqlite") };
  const { stdout, stderr } = await promisify(execFile)("sh", ["-ec", script], { cwd: root, env });
  expect(stdout.match(/"id":"payout-17","state":"succeeded"/g)?.length).toBeGreaterThan(0);
  expect(stderr.match(/^payout-17 was recorded before, and is succeeded$/gm)).toHaveLength(1);
  const ledger = await fetch(`${server.url}/ledger?account=8842`, { headers: { authorization: "Bearer dev-me" } });
  expect(((await ledger.json()) as { entries: unknown[] }).entries).toMatchObject([{ kind: "transfer_out" }]);
});

test("every script that the page names is there, and the demo knows the options", () => {
  const scripts = commands.flatMap((command) => /npm run ([\w:-]+)/.exec(command)?.[1] ?? []);
  expect(scripts.length).toBeGreaterThan(4);
  expect(Object.keys(manifest.scripts)).toEqual(expect.arrayContaining(scripts));
  const demo = readFileSync(join(root, "examples/demo/demo.ts"), "utf8");
  const known = [...demo.matchAll(/^ {4}"?([\w-]+)"?: \{ type:/gm)].map(([, name]) => name);
  const told = commands.flatMap((command) => [...command.matchAll(/ --(\w[\w-]*)/g)].map(([, name]) => name));
  expect(told.length).toBeGreaterThan(3);
  expect(known).toEqual(expect.arrayContaining(told));
});
