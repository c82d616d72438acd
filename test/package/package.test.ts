import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { installPacked } from "../../scripts/consumer.mjs";
import { expectedExports, importName, root } from "../../scripts/entries.mjs";

const run = promisify(execFile);

describe("the packed tarball", () => {
  let consumer: string;
  beforeAll(() => {
    consumer = installPacked(["better-sqlite3"]);
  });
  afterAll(() => rmSync(consumer, { recursive: true, force: true }));

  test("holds what is built and what a reader needs, and nothing else", () => {
    const allowed = /^(package\.json|README\.md|LICENSE|CHANGELOG\.md|dist|docs)$/;
    const files = readdirSync(join(consumer, "node_modules/samekey"));
    expect(files.filter((file) => !allowed.test(file) && file !== "node_modules")).toEqual([]);
    expect(files).toContain("dist");
  });

  test("is not made from what is not built, or half", async () => {
    const bare = mkdtempSync(join(tmpdir(), "samekey-unbuilt-"));
    for (const name of ["package.json", "scripts", "src"])
      cpSync(join(root, name), join(bare, name), { recursive: true });
    cpSync(join(root, "dist/index.js"), join(bare, "dist/index.js"));
    const packing = run("npm", ["pack", "--dry-run"], { cwd: bare });
    await expect(packing).rejects.toThrow(/not built \(npm run build\): \.\/dist\/index\.d\.ts/);
    rmSync(bare, { recursive: true });
  });

  test("brings its five runtime dependencies and no optional peer", () => {
    const { dependencies } = JSON.parse(readFileSync(join(consumer, "node_modules/samekey/package.json"), "utf8"));
    expect(Object.keys(dependencies).sort()).toEqual(["commander", "idb-keyval", "ky", "p-retry", "uuid"]);
    const installed = readdirSync(join(consumer, "node_modules"));
    for (const peer of ["pg", "msw", "fastify"]) expect(installed).not.toContain(peer);
  });

  test("works from an ES module", async () => {
    const { stdout } = await run(process.execPath, ["consumer.mjs"], { cwd: consumer });
    expect(stdout).toContain("import: ok");
  });

  test("works through require()", async () => {
    const { stdout } = await run(process.execPath, ["consumer.cjs"], { cwd: consumer });
    expect(stdout).toContain("require: ok");
  });

  test("loads every entry without an optional peer, and without touching a global", async () => {
    // msw is what `samekey/testing` is made of, and React what `samekey/react` is.
    const names = Object.keys(expectedExports).filter((name) => !/package\.json|testing|\/react$/.test(name));
    const code = `
      const before = Object.getOwnPropertyNames(globalThis).sort().join();
      for (const name of ${JSON.stringify(names.map(importName))}) await import(name);
      const after = Object.getOwnPropertyNames(globalThis).sort().join();
      if (before !== after) throw new Error("a global appeared or went");`;
    await run(process.execPath, ["--input-type=module", "--eval", code], { cwd: consumer });
  });

  test("counts nothing, and throws nothing, where OpenTelemetry is not installed", async () => {
    const code = `
      import { openTelemetryMetrics } from "samekey/server/metrics";
      const isInstalled = await import("@opentelemetry/api").then(() => true, () => false);
      const metrics = await openTelemetryMetrics();
      metrics.observe({ kind: "executed", scope: "s", status: 201, duration: 1, attempts: 1 });
      metrics.watch({ retentionStatus: () => { throw new Error("asked"); } });
      console.log({ isInstalled });`;
    const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", code], { cwd: consumer });
    expect(stdout.trim()).toBe("{ isInstalled: false }");
  });

  test("traces and counts with what is passed in, where neither library is installed", async () => {
    const code = `
      import { openTelemetry, prometheus } from "samekey/telemetry";
      const installed = await Promise.all(["@opentelemetry/api", "prom-client"].map((name) =>
        import(name).then(() => true, () => false)));
      const counted = [];
      class Instrument {
        constructor({ name }) { this.name = name; }
        inc(labels, by) { if (by > 0) counted.push([this.name, labels.verdict ?? labels.source]); }
        observe() {}
        set() {}
        reset() {}
      }
      const { createSdk, post } = await import("samekey");
      const { memoryStore } = await import("samekey/stores/memory");
      const sdk = createSdk({
        name: "packed", baseUrl: "https://api.example.com", owner: "single", retention: "24h", store: memoryStore(),
        operations: { transfer: post("/transfers") },
        fetch: async () => Response.json({}, { status: 201 }),
        telemetry: prometheus({ Counter: Instrument, Gauge: Instrument, Histogram: Instrument }),
      });
      await sdk.operation("transfer", {}).send();
      await sdk.close();
      let refusal;
      try { openTelemetry({}); } catch (error) { refusal = error.code; }
      console.log(JSON.stringify({ installed, counted, refusal }));`;
    const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", code], { cwd: consumer });
    expect(JSON.parse(stdout)).toEqual({
      installed: [false, false],
      counted: [
        ["samekey_attempts_total", "succeeded"],
        ["samekey_settled_total", "executed"],
      ],
      refusal: "bad_option",
    });
  });

  test("has a command, which says what it lacks", async () => {
    const samekey = (...args: string[]) => run("npx", ["--no", "--", "samekey", ...args], { cwd: consumer });
    expect((await samekey("--help")).stdout).toContain("samekey <verb> --help");
    expect((await samekey("migrate", "--retention", "24h", "--print")).stdout).toContain('CREATE TABLE "samekey".keys');
    const failure = await samekey("migrate", "--retention", "24h").catch((error) => error);
    expect(failure).toMatchObject({ code: 1, stderr: expect.stringContaining("npm install pg") });
  });

  test.each(["nodenext", "bundler"])("has types for a strict program (moduleResolution %s)", async (resolution) => {
    const tsc = join(root, "node_modules/typescript/bin/tsc");
    const { stdout } = await run(process.execPath, [tsc, "-p", `tsconfig.${resolution}.json`], { cwd: consumer }).catch(
      (failure: { stdout: string }) => failure,
    );
    expect(stdout).toBe("");
  });
});
