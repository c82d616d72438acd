import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, it } from "vitest";
import { databasesFor } from "../../../examples/reference-server/databases.js";
import { type ReferenceServer, startReferenceServer } from "../../../examples/reference-server/start.js";
import { startPostgres, type TestPostgres } from "../../support/postgres.js";

let postgres: TestPostgres;
let server: ReferenceServer | undefined;

beforeEach(async () => {
  postgres = await startPostgres();
}, 60_000);

afterEach(async () => {
  await server?.close();
  await postgres.stop();
});

const hasCurl = await promisify(execFile)("curl", ["--version"]).then(
  () => true,
  () => false,
);

it.runIf(hasCurl).each([
  ["docs/server.md", "1"],
  ["docs/server.md", "2"],
  ["README.md", "1"],
])(
  "the shell loop of %s counts one ledger entry with SHARDS=%s",
  async (page, shards) => {
    server = await startReferenceServer({ databaseUrl: await databasesFor(postgres.url, shards) });
    const docs = await readFile(new URL(`../../../${page}`, import.meta.url), "utf8");
    const loop =
      [...docs.matchAll(/^```sh\n([^`]*)```/gm)].map(([, code = ""]) => code).find((code) => code.includes("seq 20")) ??
      "";
    expect(loop).not.toBe("");
    const { stdout } = await promisify(execFile)("sh", ["-c", loop.replaceAll("http://localhost:3000", server.url)]);
    const lines = stdout.trim().split(/\s+/);
    expect(lines).toHaveLength(21);
    for (const status of lines.slice(0, 20)) expect(["201", "409"]).toContain(status);
    expect(lines.slice(0, 20)).toContain("201");
    expect(lines[20]).toBe("1");
  },
  30_000,
);
