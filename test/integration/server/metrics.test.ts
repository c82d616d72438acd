import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { v7 } from "uuid";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ReferenceServer, startReferenceServer } from "../../../examples/reference-server/start.js";
import { startPostgres, type TestPostgres } from "../../support/postgres.js";
import { findPromtool, runPromtool } from "../../support/promtool.js";

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const rules = at("../../../examples/reference-server/alerts.yml");
const ruleTests = at("alerts.yml");

let postgres: TestPostgres;
let server: ReferenceServer;

beforeAll(async () => {
  postgres = await startPostgres();
  server = await startReferenceServer({ databaseUrl: postgres.url });
}, 60_000);

afterAll(async () => {
  await server.close();
  await postgres.stop();
});

const transfer = (key: string, body: object): Promise<Response> =>
  fetch(`${server.url}/transfers`, {
    method: "POST",
    headers: { "content-type": "application/json", "idempotency-key": key },
    body: JSON.stringify(body),
  });

/** The lines of a scrape that are samples. */
async function scrape(): Promise<string[]> {
  const answer = await fetch(`${server.url}/metrics`);
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toContain("text/plain");
  return (await answer.text()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
}

describe("/metrics of the reference server", () => {
  it("counts what became of requests", async () => {
    const key = v7();
    const body = { src: 1, dst: 2, amount: 5 };
    await transfer(key, body);
    await transfer(key, body);
    await transfer(key, { ...body, amount: 6 });
    await transfer(v7(), { ...body, amount: 2_000_000 });
    await transfer("", body);
    await transfer(v7({ msecs: Date.now() - 3 * 86_400_000 }), body);
    const samples = await scrape();
    for (const outcome of ["executed", "replayed", "mismatched", "refused", "invalid", "expired"]) {
      expect(samples).toContain(`samekey_requests_total{scope="transfers",outcome="${outcome}"} 1`);
      expect(samples).toContain(`samekey_request_duration_seconds_count{scope="transfers",outcome="${outcome}"} 1`);
    }
  });

  it("tells no tenant, key or account", async () => {
    const key = `order-${Math.random()}`;
    await transfer(key, { src: 8842, dst: 1190, amount: 5 });
    expect((await scrape()).join("\n")).not.toMatch(new RegExp(`${key}|8842|tenant`));
  });

  it("shows that a new database keeps what it promises", async () => {
    const samples = await scrape();
    expect(samples).toContain('samekey_retention_up{shard="0"} 1');
    expect(samples).toContain('samekey_retention_shortfall_seconds{shard="0"} 0');
    expect(samples).toContain('samekey_retention_lag_seconds{shard="0"} 0');
    expect(samples).toContainEqual(expect.stringMatching(/^samekey_partitions_ahead\{shard="0"\} [2-9]/));
  });

  it("exports every metric that an alert asks for, and every label that it names", async () => {
    await transfer(v7(), { src: 1, dst: 2, amount: 5 });
    const samples = await scrape();
    const text = await readFile(rules, "utf8");
    const expressions = [...text.matchAll(/expr: (\|\n(?: {10}.*\n)+|.*\n)/g)].map(
      ([, expression]) => expression ?? "",
    );
    expect(expressions).toHaveLength(text.match(/- alert:/g)?.length ?? 0);
    for (const expression of expressions) {
      const asked = [...expression.matchAll(/\b(samekey_\w+)(?:\{(\w+)=)?/g)];
      expect(asked).not.toEqual([]);
      for (const [, metric, label = ""] of asked) {
        expect(samples).toContainEqual(expect.stringMatching(`^${metric}\\{.*\\b${label}.*\\} `));
      }
    }
    // What the annotations send people to is there as well.
    for (const [name] of text.matchAll(/samekey_\w+/g)) {
      expect(samples).toContainEqual(expect.stringMatching(`^${name}(_bucket)?\\{`));
    }
  });
});

const promtool = findPromtool();
if (promtool === undefined)
  console.warn("the alerts are not tested: promtool is not installed (Debian package prometheus)");

describe.skipIf(promtool === undefined)("the alerts", () => {
  const run = (...args: string[]) => runPromtool(promtool ?? "", ...args);

  it("are rules that Prometheus accepts", async () => {
    expect(await run("check", "rules", rules)).toMatchObject({ ok: true });
  });

  it("fire when they should, and only then", async () => {
    expect(await run("test", "rules", ruleTests)).toMatchObject({ ok: true });
  });

  it("have a test each that sees them fire, and say what to do", async () => {
    const [text, tests] = await Promise.all([readFile(rules, "utf8"), readFile(ruleTests, "utf8")]);
    const names = [...text.matchAll(/- alert: (\w+)/g)].map(([, name]) => name);
    const fired = [...tests.matchAll(/- labels: 'ALERTS\{alertname="(\w+)"/g)].map(([, name]) => name);
    expect([...new Set(fired)].sort()).toEqual([...names].sort());
    expect(text.match(/summary: /g)).toHaveLength(names.length);
    expect(text.match(/description: /g)).toHaveLength(names.length);
  });
});
