import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { v7 } from "uuid";
import { afterAll, beforeAll, expect, test } from "vitest";
import { root } from "../../../scripts/entries.mjs";
import type { OperationRecord } from "../../../src/core/record.js";
import { sqliteStore } from "../../../src/stores/sqlite.js";
import { createMockServer } from "../../../src/testing/index.js";
import { bin } from "../../support/command.js";
import { type Loopback, serve } from "../../support/loopback.js";
import { context, newRecord, unresolved } from "../../support/records.js";
import { filesOf } from "../../support/snippets.js";

const page = readFileSync(join(root, "docs/operating.md"), "utf8");
const commands = [...page.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, code = ""]) => code.trim());

const DAY = 86_400_000;
const ages = { ID: 0, APPLIED: 7, DROPPED: 7, AGAIN: 7, LOST: 7 };
const ids: Record<string, string> = {};
const api = createMockServer();
let directory: string;
let site: Loopback;

beforeAll(async () => {
  site = await serve(async (request, response) => {
    const headers = request.headers as Record<string, string>;
    const answer = await api.fetch(`${api.baseUrl}${request.url}`, {
      method: request.method ?? "",
      headers,
      body: await text(request),
    });
    response.writeHead(answer.status, [...answer.headers].flat()).end(await answer.text());
  });
  // Below the project, so that `samekey` is found.
  await mkdir(join(root, ".tmp"), { recursive: true });
  directory = await mkdtemp(join(root, ".tmp/operating-"));
  const [[name = "", code = ""] = []] = filesOf("docs/operating.md", "js");
  await writeFile(join(directory, name), code.replace("https://api.example.com", site.url));
  await writeFile(join(directory, "tokens.js"), 'export const tokenOf = (owner) => "token-of-" + owner;');
  const store = sqliteStore({ path: join(directory, "shop.sqlite") });
  await store.open(context);
  for (const [name, days] of Object.entries(ages)) {
    const at = Date.now() - days * DAY;
    const plain = newRecord({ key: v7({ msecs: at }) });
    const request = { ...plain.request, url: `${site.url}/transfers` };
    const { record } = await store.insert({
      ...plain,
      origin: site.url,
      request,
      intent: name,
      createdAt: at,
      keyAt: at,
    });
    await store.update(record.id, (standing) => unresolved(standing, at));
    ids[name] = record.id;
  }
  await store.close();
});

afterAll(async () => {
  await site?.close();
  await rm(directory, { recursive: true, force: true });
});

function run(command: string): Promise<{ code: number; output: string }> {
  const script = command.replaceAll("npx samekey", '"$NODE" "$SAMEKEY"');
  const env = { ...process.env, ...ids, NODE: process.execPath, SAMEKEY: bin, SAMEKEY_DIR: directory };
  return new Promise((resolve) => {
    execFile("sh", ["-c", script], { env, cwd: directory }, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === "number" ? error.code : 0, output: stdout + stderr });
    });
  });
}

test("dead letters are resolved by the commands of docs/operating.md, in their order", async () => {
  expect(commands.length).toBeGreaterThanOrEqual(10);
  const codes: [string, number][] = [];
  for (const command of commands) {
    const { code } = await run(command);
    codes.push([command, code]);
  }
  // Those past their key's time are named and left.
  const refused = commands.filter((command) => command.includes("--rate"));
  expect(codes.filter(([, code]) => code !== 0)).toEqual(refused.map((command) => [command, 1]));

  const store = sqliteStore({ path: join(directory, "shop.sqlite") });
  await store.open(context);
  const records = await store.page({});
  await store.close();
  const byIntent = (intent: string): OperationRecord[] => records.filter((record) => record.intent === intent);
  expect(byIntent("ID")).toMatchObject([{ state: "succeeded" }]);
  expect(byIntent("APPLIED")).toMatchObject([{ state: "succeeded", resolution: { how: "applied" } }]);
  expect(byIntent("DROPPED")).toMatchObject([{ state: "rejected", resolution: { how: "not-applied" } }]);
  expect(byIntent("AGAIN")).toMatchObject([{ state: "rejected" }, { state: "succeeded", reissueOf: ids["AGAIN"] }]);
  expect(api.effects).toHaveLength(2);
  expect(api.requests.map(({ headers }) => headers.get("authorization"))).toEqual(Array(2).fill("Bearer token-of-ada"));
  expect(byIntent("LOST")).toMatchObject([{ state: "unresolved", resolution: { how: "discarded" } }]);
});
