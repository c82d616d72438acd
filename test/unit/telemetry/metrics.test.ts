import * as api from "@opentelemetry/api";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import client, { Registry } from "prom-client";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type OperationRecord, post, StoreError } from "../../../src/index.js";
import { memoryStore } from "../../../src/stores/memory.js";
import { openTelemetry, type PrometheusClient, prometheus } from "../../../src/telemetry.js";
import { createTestSdk, lose, status, type TestSdk, unauthorized, unreachable } from "../../../src/testing/index.js";

const operations = { transfer: post<{ amount: number }, { id: string }>("/transfers") };

function counted(options: Partial<Parameters<typeof createTestSdk>[0]> = {}) {
  const registry = new Registry();
  const telemetry = prometheus(client, { registry });
  const app = createTestSdk({ operations, telemetry, retry: { attempts: 3 }, ...options }) as TestSdk<
    typeof operations
  >;
  const scrape = async (): Promise<string[]> => (await registry.metrics()).split("\n").filter((line) => line !== "");
  return { app, registry, telemetry, scrape };
}

const send = (app: TestSdk<typeof operations>, amount = 1) =>
  app.until(app.sdk.operation("transfer", { amount }).send()).catch((error: unknown) => error);

afterEach(() => {
  api.metrics.disable();
  vi.useRealTimers();
});

describe("the metrics of prometheus", () => {
  it("are there from the start, at 0, for each operation that is declared", async () => {
    const { scrape } = counted();
    const lines = await scrape();
    for (const line of [
      'samekey_operations{sdk="test",state="pending"} 0',
      'samekey_operations{sdk="test",state="blocked"} 0',
      'samekey_operations{sdk="test",state="unresolved"} 0',
      'samekey_oldest_pending_seconds{sdk="test"} 0',
      'samekey_attempts_total{operation="transfer",verdict="retry"} 0',
      'samekey_attempts_total{operation="transfer",verdict="succeeded"} 0',
      'samekey_settled_total{operation="transfer",state="succeeded",source="replayed"} 0',
      "samekey_store_failures_total 0",
      "# TYPE samekey_attempt_duration_seconds histogram",
      "# TYPE samekey_operation_duration_seconds histogram",
    ]) {
      expect(lines).toContain(line);
    }
  });

  it("count attempts by what their end means, and operations by how they ended", async () => {
    const { app, scrape } = counted();
    app.server.script(status(503), lose.response());
    await send(app);
    app.server.script(status(400));
    await send(app);
    app.server.script(unreachable(), unreachable(), unreachable());
    await send(app);
    const lines = await scrape();
    expect(lines).toEqual(
      expect.arrayContaining([
        'samekey_attempts_total{operation="transfer",verdict="retry"} 2',
        'samekey_attempts_total{operation="transfer",verdict="succeeded"} 1',
        'samekey_attempts_total{operation="transfer",verdict="refused"} 1',
        'samekey_attempts_total{operation="transfer",verdict="unsent"} 3',
        'samekey_settled_total{operation="transfer",state="succeeded",source="replayed"} 1',
        'samekey_settled_total{operation="transfer",state="rejected",source="executed"} 1',
        'samekey_settled_total{operation="transfer",state="expired",source="none"} 1',
        // What was never sent has no duration.
        'samekey_attempt_duration_seconds_count{operation="transfer"} 4',
        'samekey_operation_duration_seconds_count{operation="transfer"} 3',
      ]),
    );
  });

  it("show what is open, how old the oldest of it is, and only what nobody has decided on", async () => {
    const { app, scrape } = counted({ store: memoryStore() });
    app.server.script(unauthorized());
    await app.until(app.sdk.operation("transfer", { amount: 1 }).outcome());
    app.offline(true);
    await app.until(app.sdk.operation("transfer", { amount: 2 }).save());
    await app.advance("90s");
    await app.until(app.sdk.operation("transfer", { amount: 3 }).save());
    expect(await scrape()).toEqual(
      expect.arrayContaining([
        'samekey_operations{sdk="test",state="pending"} 2',
        'samekey_operations{sdk="test",state="blocked"} 1',
        'samekey_oldest_pending_seconds{sdk="test"} 90',
      ]),
    );
    app.offline(false);
    await app.until(app.sdk.resume());
    expect(await scrape()).toEqual(
      expect.arrayContaining([
        'samekey_operations{sdk="test",state="pending"} 0',
        'samekey_oldest_pending_seconds{sdk="test"} 0',
      ]),
    );

    app.server.script(lose.response(), status(503), status(503));
    const error = (await send(app, 4)) as { record: OperationRecord };
    expect(error).toMatchObject({ code: "attempts" });
    const unresolved = async () => (await scrape()).find((line) => line.includes('state="unresolved"'));
    expect(await unresolved()).toMatch(/ 1$/);
    await app.until(app.sdk.discard(error.record.id, { reason: "asked the bank" }));
    expect(await app.sdk.counts()).toMatchObject({ unresolved: 1 });
    expect(await unresolved()).toMatch(/ 0$/);
    expect(await scrape()).toContain('samekey_settled_total{operation="transfer",state="discarded",source="none"} 1');
  });

  it("count how often the store failed, but not that maxPending was reached", async () => {
    const store = memoryStore();
    const insert = vi.spyOn(store, "insert");
    const { app, scrape } = counted({ store, maxPending: 1 });
    app.offline(true);
    await app.until(app.sdk.operation("transfer", { amount: 1 }).save());
    expect(await app.until(app.sdk.operation("transfer", { amount: 2 }).save()).catch((error) => error)).toMatchObject({
      code: "store_full",
    });
    expect(await scrape()).toContain("samekey_store_failures_total 0");
    insert.mockRejectedValueOnce(new StoreError("not_durable"));
    await expect(app.until(app.sdk.operation("transfer", { amount: 3 }).save())).rejects.toThrow(StoreError);
    expect(await scrape()).toContain("samekey_store_failures_total 1");
  });

  it("leave out what a store cannot tell, without failing the scrape, and ask a slow one once and not for ever", async () => {
    const store = memoryStore();
    const counts = vi.spyOn(store, "counts").mockRejectedValueOnce(new StoreError("unavailable"));
    const { app, scrape } = counted({ store });
    await send(app);
    expect((await scrape()).filter((line) => /^samekey_(operations|oldest)/.test(line))).toEqual([]);
    expect(await scrape()).toContain('samekey_operations{sdk="test",state="pending"} 0');
    expect(counts).toHaveBeenCalledTimes(2);
    vi.useFakeTimers();
    counts.mockReturnValue(new Promise(() => {}));
    for (let n = 0; n < 3; n++) {
      const [lines] = await Promise.all([scrape(), vi.advanceTimersByTimeAsync(5_000)]);
      expect(lines).toContain('samekey_attempts_total{operation="transfer",verdict="succeeded"} 1');
      expect(lines.join()).not.toContain("samekey_operations{");
    }
    expect(counts).toHaveBeenCalledTimes(3);
  });

  it("tell Sdks apart that share them, and let go of one that is closed", async () => {
    const { app, telemetry, scrape } = counted();
    const other = createTestSdk({ name: "other", operations, telemetry });
    await send(app);
    await send(other);
    expect((await scrape()).filter((line) => line.startsWith("samekey_oldest"))).toHaveLength(2);
    expect(await scrape()).toContain('samekey_attempts_total{operation="transfer",verdict="succeeded"} 2');
    const counts = vi.spyOn(other.store, "counts");
    await app.until(other.sdk.close());
    expect((await scrape()).filter((line) => line.startsWith("samekey_oldest"))).toEqual([
      'samekey_oldest_pending_seconds{sdk="test"} 0',
    ]);
    expect(counts).not.toHaveBeenCalled();
    // What it has counted stays.
    expect(await scrape()).toContain('samekey_attempts_total{operation="transfer",verdict="succeeded"} 2');
  });

  it("ask nothing of an Sdk that was closed, and hear nothing more of it", async () => {
    const { telemetry, scrape } = counted();
    const [store, stop] = [vi.fn(() => Promise.resolve(memoryStore())), vi.fn()];
    const clock = { now: () => 0, sleep: async () => {} };
    const observer = telemetry.join({ name: "closing", operations: [], clock, on: () => stop, store });
    await scrape();
    expect(store).toHaveBeenCalledTimes(1);
    observer.onClose?.();
    await scrape();
    expect(store).toHaveBeenCalledTimes(1);
    expect(stop).toHaveBeenCalledTimes(1);
  });

  it("hold no more than two hundred names apart: records of other deploys bring theirs", async () => {
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`operation-${n}`, operations.transfer]));
    const { scrape } = counted({ operations: many });
    const names = (await scrape()).flatMap(
      (line) => /^samekey_attempts_total\{operation="([^"]+)"/.exec(line)?.[1] ?? [],
    );
    expect(new Set(names).size).toBe(201);
    expect(names).toContain("other");
  });

  it("have no label with an id, a key, an intent, an owner or anything that was sent", async () => {
    const { app, scrape } = counted({ owner: () => "owner-sentinel" });
    const call = { intent: "intent-sentinel", key: "key-sentinel" };
    await app.until(app.sdk.operation("transfer", { amount: 424242 }, call).send());
    expect((await scrape()).join("\n")).not.toMatch(/sentinel|424242|bank/);
  });

  it("refuse what is not prom-client, and a registry that has them", () => {
    for (const given of [undefined, {}, api, prometheus]) {
      expect(() => prometheus(given as unknown as PrometheusClient)).toThrow(
        expect.objectContaining({
          code: "bad_option",
          message: expect.stringContaining('import client from "prom-client"'),
        }),
      );
    }
    const { registry } = counted();
    expect(() => prometheus(client, { registry })).toThrow(/samekey_attempts_total.*already/);
  });

  it("stand beside other telemetry", async () => {
    const registry = new Registry();
    const app = createTestSdk({ operations, telemetry: [prometheus(client, { registry }), openTelemetry(api)] });
    await send(app);
    expect(await registry.metrics()).toContain('verdict="succeeded"} 1');
  });
});

describe("the metrics of openTelemetry", () => {
  async function collect(work: (app: TestSdk<typeof operations>) => Promise<void>, traces = true) {
    const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
    const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
    const provider = new MeterProvider({ readers: [reader] });
    // After the call, as the import of a module may have it, and before createSdk.
    const telemetry = openTelemetry(api, { traces });
    api.metrics.setGlobalMeterProvider(provider);
    const app = createTestSdk({ operations, telemetry });
    await work(app);
    await reader.forceFlush();
    await provider.shutdown();
    const metrics = exporter.getMetrics()[0]?.scopeMetrics.flatMap((scope) => scope.metrics) ?? [];
    return metrics.map(({ descriptor, dataPoints }) => ({
      ...descriptor,
      points: dataPoints as { attributes: object; value: unknown }[],
    }));
  }

  it.each([true, false])("have names, units and attributes of OpenTelemetry's manner (spans: %s)", async (traces) => {
    const metrics = await collect(async (app) => {
      app.server.script(status(503));
      await send(app);
    }, traces);
    expect(metrics.map(({ name, unit }) => [name, unit])).toEqual([
      ["samekey.attempts", "{attempt}"],
      ["samekey.settled", "{operation}"],
      ["samekey.store.failures", "{failure}"],
      ["samekey.attempt.duration", "s"],
      ["samekey.operation.duration", "s"],
      ["samekey.operations", "{operation}"],
      ["samekey.operation.oldest_pending", "s"],
    ]);
    const points = (name: string) => metrics.find((metric) => metric.name === `samekey.${name}`)?.points;
    expect(points("attempts")).toContainEqual(
      expect.objectContaining({
        attributes: { "samekey.operation": "transfer", "samekey.verdict": "retry" },
        value: 1,
      }),
    );
    expect(points("settled")).toContainEqual(
      expect.objectContaining({
        attributes: { "samekey.operation": "transfer", "samekey.state": "succeeded", "samekey.source": "executed" },
        value: 1,
      }),
    );
    expect(points("operations")?.map(({ attributes, value }) => [attributes, value])).toEqual(
      ["pending", "blocked", "unresolved"].map((state) => [{ "samekey.sdk": "test", "samekey.state": state }, 0]),
    );
    expect(points("store.failures")).toMatchObject([{ attributes: {}, value: 0 }]);
  });

  it("observe nothing of an Sdk that is closed", async () => {
    const metrics = await collect(async (app) => {
      await send(app);
      await app.until(app.sdk.close());
    });
    expect(metrics.find(({ name }) => name === "samekey.operations")?.points ?? []).toEqual([]);
  });

  it("can be left out", async () => {
    const getMeter = vi.fn();
    const app = createTestSdk({
      operations,
      telemetry: openTelemetry({ ...api, metrics: { getMeter } }, { metrics: false }),
    });
    await send(app);
    expect(getMeter).not.toHaveBeenCalled();
  });
});
