import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, vi } from "vitest";
import { bundle } from "../../support/bundle.js";
import { findPromtool, runPromtool } from "../../support/promtool.js";
import { startHttpServer } from "../client/http-server.js";

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const rules = at("../../../examples/alerts/client.yml");
const ruleTests = at("client.yml");
const text = await readFile(rules, "utf8");
const names = [...text.matchAll(/- alert: (\w+)/g)].map(([, name]) => name);

const promtool = findPromtool();
if (promtool === undefined)
  console.warn("the client's alerts are not tested: promtool is not installed (Debian package prometheus)");

/** The samples of the example worker while it makes a transfer that was refused once for now. */
async function scrapeWorker(): Promise<string[]> {
  const directory = await mkdtemp(join(tmpdir(), "samekey-alerts-"));
  const program = await bundle(new URL("../../../examples/node-worker/worker.ts", import.meta.url));
  const server = await startHttpServer((_, response) => {
    const status = server.requests.length === 1 ? 503 : 201;
    response.writeHead(status, { "content-type": "application/json" }).end('{"transfer":"t-1"}');
  });
  const env = {
    ...process.env,
    API_URL: server.url,
    API_TOKEN: "t",
    STORE: join(directory, "worker.sqlite"),
    METRICS_PORT: "0",
  };
  const worker = spawn(process.execPath, [program.path], { env });
  try {
    let errors = "";
    worker.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      errors += chunk;
    });
    worker.stdin.write('{"id":"payout-1","transfer":{"src":1,"dst":2,"amount":3}}\n');
    return await vi.waitFor(
      async () => {
        const [, url = ""] = /metrics are at (\S+)/.exec(errors) ?? [];
        const answer = await fetch(url);
        expect(answer.headers.get("content-type")).toContain("text/plain");
        const samples = (await answer.text()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
        expect(samples).toContain('samekey_settled_total{operation="transfer",state="succeeded",source="executed"} 1');
        return samples;
      },
      { timeout: 60_000, interval: 100 },
    );
  } finally {
    worker.kill("SIGKILL");
    await once(worker, "exit");
    await server.close();
    program.remove();
    await rm(directory, { recursive: true, force: true });
  }
}

describe.skipIf(promtool === undefined)("the client's alerts", () => {
  const run = (...args: string[]) => runPromtool(promtool ?? "", ...args);

  it("are rules that Prometheus accepts", async () => {
    expect(await run("check", "rules", rules)).toMatchObject({ ok: true });
  });

  it("fire when they should, and only then", async () => {
    expect(await run("test", "rules", ruleTests)).toMatchObject({ ok: true });
  });
});

describe("what a worker tells Prometheus", () => {
  it("has every metric that an alert asks for, and every label that it names", async () => {
    const samples = await scrapeWorker();
    const expressions = [...text.matchAll(/expr: (\|\n(?: {10}.*\n)+|.*\n)/g)].map(([, expression = ""]) => expression);
    expect(expressions).toHaveLength(names.length);
    for (const expression of expressions) {
      const asked = [...expression.matchAll(/\b(samekey_\w+)(?:\{(\w+)=)?/g)];
      expect(asked).not.toEqual([]);
      for (const [, metric = "", label] of asked) {
        const ofLabel = label === undefined ? "( |\\{)" : `\\{.*\\b${label}="`;
        expect(samples).toContainEqual(expect.stringMatching(`^${metric}${ofLabel}`));
      }
      for (const [, labels = ""] of expression.matchAll(/by \(([^)]+)\)/g)) {
        for (const label of labels.split(", ").filter((label) => label !== "job")) {
          for (const [, metric] of asked)
            expect(samples).toContainEqual(expect.stringMatching(`^${metric}\\{.*\\b${label}="`));
        }
      }
    }
    // The values that they select, and what their annotations send people to.
    for (const [, label, alternatives = ""] of text.matchAll(/[{,](\w+)=~?"([\w|]+)"/g)) {
      for (const value of alternatives.split("|")) {
        expect(samples).toContainEqual(expect.stringContaining(`${label}="${value}"`));
      }
    }
    for (const [name] of text.matchAll(/samekey_\w+/g)) {
      expect(samples).toContainEqual(expect.stringMatching(`^${name}(_bucket)?[ {]`));
    }
  });
});

describe("each of the client's alerts", () => {
  it("has tests that see it fire and see it silent", async () => {
    const tests = await readFile(ruleTests, "utf8");
    const fired = [...tests.matchAll(/- labels: 'ALERTS\{alertname="(\w+)"/g)].map(([, name]) => name);
    const silent = [...tests.matchAll(/ALERTS\{alertname="(\w+)".*\n.*\n +exp_samples: \[\]/g)].map(([, name]) => name);
    expect([...new Set(fired)].sort()).toEqual([...names].sort());
    expect([...new Set(silent)].sort()).toEqual([...names].sort());
  });

  it("waits a while, says how severe it is, and names a command or a metric that helps", () => {
    const each = text.split("- alert: ").slice(1);
    expect(each).toHaveLength(names.length);
    for (const alert of each) {
      expect(alert).toMatch(/ for: \d+m\n/);
      expect(alert).toMatch(/ severity: (warning|critical)\n/);
      expect(alert).toMatch(/ summary: /);
      expect(alert.split(" description: ")[1]).toMatch(/`samekey\s+[a-z]+|samekey_\w+/);
    }
  });

  it("names verbs that the command line has", async () => {
    const page = await readFile(at("../../../docs/operating.md"), "utf8");
    const verbs = [...text.matchAll(/`samekey\s+([a-z]+)/g)].map(([, verb]) => verb);
    expect(verbs).toContain("list");
    for (const verb of verbs) expect(page).toMatch(new RegExp(`^\\| .*\`${verb}\\b.* \\|`, "m"));
  });
});
