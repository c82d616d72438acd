import * as assert from "node:assert/strict";
import * as diagnostics from "node:diagnostics_channel";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as api from "@opentelemetry/api";
import * as tracing from "@opentelemetry/sdk-trace-base";
import client, { Registry } from "prom-client";
import * as samekey from "samekey";
import * as telemetry from "samekey/telemetry";
import * as testing from "samekey/testing";
import { afterAll, expect, test } from "vitest";
import { root } from "../../../scripts/entries.mjs";
import { programsOf, runSnippet } from "../../support/snippets.js";

const page = readFileSync(join(root, "docs/telemetry.md"), "utf8");
const modules = {
  "node:assert/strict": assert,
  "node:diagnostics_channel": diagnostics,
  "@opentelemetry/api": api,
  "@opentelemetry/sdk-trace-base": tracing,
  "prom-client": { default: client },
  samekey,
  "samekey/telemetry": telemetry,
  "samekey/testing": testing,
};
afterAll(() => api.trace.disable());

test.each(programsOf("docs/telemetry.md"))(
  "the program on line %i of docs/telemetry.md does what it says",
  async (_, code) => {
    await runSnippet(code, modules, {});
  },
);

test("docs/telemetry.md has every metric, with its labels, and no other", async () => {
  const registry = new Registry();
  const app = testing.createTestSdk({
    operations: { transfer: samekey.post<{ amount: number }>("/transfers") },
    telemetry: telemetry.prometheus(client, { registry }),
  });
  await app.until(app.sdk.operation("transfer", { amount: 1 }).send());
  const metrics = await registry.getMetricsAsJSON();
  const told = [
    ...page.matchAll(/^\| `(samekey_\w+)` \| `(samekey\.[\w.]+)` \| [^|]+ \|([^|]*)\| (gauge|counter|histogram)/gm),
  ];
  const rows = told.map(([, name = "", , labels = "", type = ""]) => [name, type, labels.match(/\w+/g) ?? []]);
  const exported = metrics.map(({ name, type, values }) => {
    const labels = Object.keys(values[0]?.labels ?? {}).filter((label) => label !== "le");
    return [name, String(type), labels];
  });
  expect(exported.sort()).toEqual(rows.sort());
  for (const { name, values } of metrics) {
    for (const { labels } of values) {
      for (const [label, value] of Object.entries(labels)) {
        // Every value of a label that is not a name of the program's.
        if (!/^(le|sdk|operation)$/.test(label)) expect(page, `${name} ${label}`).toContain(`\`${value}\``);
      }
    }
  }
});

test("docs/telemetry.md has every attribute of a span", async () => {
  const exporter = new tracing.InMemorySpanExporter();
  api.trace.disable();
  api.trace.setGlobalTracerProvider(
    new tracing.BasicTracerProvider({ spanProcessors: [new tracing.SimpleSpanProcessor(exporter)] }),
  );
  const app = testing.createTestSdk({
    operations: { transfer: samekey.post<{ amount: number }>("/transfers") },
    telemetry: telemetry.openTelemetry(api),
  });
  app.server.script(testing.lose.response());
  await app.until(app.sdk.operation("transfer", { amount: 1 }).send());
  app.server.script(testing.unprocessable());
  await app.until(app.sdk.operation("transfer", { amount: 2 }).outcome());
  const names = new Set(exporter.getFinishedSpans().flatMap(({ attributes }) => Object.keys(attributes)));
  const rows = [...page.matchAll(/^\| (`[\w.`, ]+`) \| (?:attempt|call|both) \|/gm)];
  const told = rows.flatMap(([, cell = ""]) => cell.match(/[\w.]+/g) ?? []);
  expect([...names].sort()).toEqual(told.sort());
});
