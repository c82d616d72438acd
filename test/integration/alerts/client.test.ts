import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { findPromtool, runPromtool } from "../../support/promtool.js";

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const rules = at("../../../examples/alerts/client.yml");
const ruleTests = at("client.yml");
const text = await readFile(rules, "utf8");
const names = [...text.matchAll(/- alert: (\w+)/g)].map(([, name]) => name);

const promtool = findPromtool();
if (promtool === undefined)
  console.warn("the client's alerts are not tested: promtool is not installed (Debian package prometheus)");

describe.skipIf(promtool === undefined)("the client's alerts", () => {
  const run = (...args: string[]) => runPromtool(promtool ?? "", ...args);

  it("are rules that Prometheus accepts", async () => {
    expect(await run("check", "rules", rules)).toMatchObject({ ok: true });
  });

  it("fire when they should, and only then", async () => {
    expect(await run("test", "rules", ruleTests)).toMatchObject({ ok: true });
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
