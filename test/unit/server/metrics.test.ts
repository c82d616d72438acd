import { metrics as globalApi } from "@opentelemetry/api";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import client, { Registry } from "prom-client";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { ServerEvent } from "../../../src/server/index.js";
import {
  type Metrics,
  openTelemetryMetrics,
  prometheusMetrics,
  type RetentionStatus,
} from "../../../src/server/metrics.js";

const event = (some: Partial<ServerEvent> = {}): ServerEvent => ({
  kind: "executed",
  scope: "transfers",
  status: 201,
  duration: 20,
  handlerDuration: 15,
  attempts: 1,
  ...some,
});

const day = 86_400_000;
const status: RetentionStatus = { promised: 7 * day, kept: 7 * day, lag: 0, ahead: 2 };
const source = (some: Partial<RetentionStatus> = {}) => ({
  retentionStatus: () => Promise.resolve({ ...status, ...some }),
});
const broken = { retentionStatus: () => Promise.reject(new Error("away")) };

function prometheus(): { metrics: Metrics; scrape(): Promise<string[]> } {
  const registry = new Registry();
  const metrics = prometheusMetrics(client, { registry });
  return { metrics, scrape: async () => (await registry.metrics()).split("\n") };
}

afterEach(() => {
  vi.useRealTimers();
});

describe("prometheusMetrics", () => {
  it("counts by scope and outcome", async () => {
    const { metrics, scrape } = prometheus();
    metrics.observe(event());
    metrics.observe(event());
    metrics.observe(event({ kind: "replayed", attempts: 0, handlerDuration: undefined }));
    expect(await scrape()).toEqual(
      expect.arrayContaining([
        "# TYPE samekey_requests_total counter",
        'samekey_requests_total{scope="transfers",outcome="executed"} 2',
        'samekey_requests_total{scope="transfers",outcome="replayed"} 1',
      ]),
    );
  });

  it("measures in seconds, from 1 ms to 60 s, the handler apart", async () => {
    const { metrics, scrape } = prometheus();
    metrics.observe(event({ duration: 20, handlerDuration: 0.9 }));
    metrics.observe(event({ duration: 61_000, handlerDuration: undefined, attempts: 0 }));
    const lines = await scrape();
    const of = (name: string, le: string) =>
      lines
        .find((line) => line.startsWith(`${name}_bucket{le="${le}"`))
        ?.split(" ")
        .at(-1);
    expect(lines).toContain("# TYPE samekey_request_duration_seconds histogram");
    expect(of("samekey_request_duration_seconds", "0.01")).toBe("0");
    expect(of("samekey_request_duration_seconds", "0.025")).toBe("1");
    expect(of("samekey_request_duration_seconds", "60")).toBe("1");
    expect(of("samekey_request_duration_seconds", "+Inf")).toBe("2");
    expect(of("samekey_handler_duration_seconds", "0.001")).toBe("1");
    expect(lines).toContain('samekey_handler_duration_seconds_count{scope="transfers"} 1');
  });

  it("counts how often a handler had to run again", async () => {
    const { metrics, scrape } = prometheus();
    metrics.observe(event({ attempts: 3 }));
    metrics.observe(event({ attempts: 1 }));
    metrics.observe(event({ attempts: 0 }));
    expect(await scrape()).toContain('samekey_handler_retries_total{scope="transfers"} 2');
  });

  it("holds no more than fifty scopes apart, so that one that is no constant cannot fill the memory", async () => {
    const { metrics, scrape } = prometheus();
    for (let n = 0; n < 1000; n += 1) metrics.observe(event({ scope: `scope-${n}` }));
    metrics.observe(event({ scope: "scope-7" }));
    const lines = (await scrape()).filter((line) => line.startsWith("samekey_requests_total{"));
    expect(lines).toHaveLength(51);
    expect(lines).toContain('samekey_requests_total{scope="other",outcome="executed"} 950');
    expect(lines).toContain('samekey_requests_total{scope="scope-7",outcome="executed"} 2');
  });

  it("shows what is promised beside what is kept, of each shard", async () => {
    const { metrics, scrape } = prometheus();
    metrics.watch(source({ lag: 3_600_000 }), { shard: "0" });
    metrics.watch(source({ kept: 2 * day, ahead: 1 }), { shard: "1" });
    expect(await scrape()).toEqual(
      expect.arrayContaining([
        'samekey_retention_promised_seconds{shard="0"} 604800',
        'samekey_retention_kept_seconds{shard="1"} 172800',
        'samekey_retention_shortfall_seconds{shard="0"} 0',
        'samekey_retention_shortfall_seconds{shard="1"} 432000',
        'samekey_retention_lag_seconds{shard="0"} 3600',
        'samekey_partitions_ahead{shard="1"} 1',
        'samekey_retention_up{shard="0"} 1',
      ]),
    );
  });

  it("calls no shortfall what keeps more than is promised", async () => {
    const { metrics, scrape } = prometheus();
    metrics.watch(source({ kept: 30 * day }));
    expect(await scrape()).toContain('samekey_retention_shortfall_seconds{shard=""} 0');
  });

  it("leaves out what a database does not tell, and says so, without failing the scrape", async () => {
    const { metrics, scrape } = prometheus();
    let away = false;
    metrics.watch({ retentionStatus: () => (away ? broken : source()).retentionStatus() });
    expect(await scrape()).toContain('samekey_retention_up{shard=""} 1');
    away = true;
    const lines = await scrape();
    expect(lines).toContain('samekey_retention_up{shard=""} 0');
    expect(lines.filter((line) => /^samekey_(retention_(?!up)|partitions)/.test(line))).toEqual([]);
  });

  it("asks a database that hangs only once, and answers the scrape without it", async () => {
    vi.useFakeTimers();
    const { metrics, scrape } = prometheus();
    const hanging = vi.fn(() => new Promise<never>(() => {}));
    metrics.watch({ retentionStatus: hanging });
    for (const _ of [1, 2]) {
      const lines = scrape();
      await vi.advanceTimersByTimeAsync(5_000);
      expect(await lines).toContain('samekey_retention_up{shard=""} 0');
    }
    expect(hanging).toHaveBeenCalledTimes(1);
  });

  it("asks once for all the gauges of a scrape, and anew for the next", async () => {
    const { metrics, scrape } = prometheus();
    const retentionStatus = vi.fn(source().retentionStatus);
    metrics.watch({ retentionStatus });
    await scrape();
    await scrape();
    expect(retentionStatus).toHaveBeenCalledTimes(2);
  });

  it("uses prom-client's own register where none is named", async () => {
    prometheusMetrics(client).observe(event());
    expect(await client.register.getSingleMetricAsString("samekey_requests_total")).toContain('outcome="executed"} 1');
    client.register.clear();
  });
});

describe("openTelemetryMetrics", () => {
  const exported = () => {
    const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
    const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 2 ** 30 });
    const provider = new MeterProvider({ readers: [reader] });
    const collect = async () => {
      await reader.forceFlush();
      const found =
        exporter
          .getMetrics()
          .at(-1)
          ?.scopeMetrics.flatMap(({ metrics }) => metrics) ?? [];
      await provider.shutdown();
      return new Map(found.map(({ descriptor, dataPoints }) => [descriptor.name, { ...descriptor, dataPoints }]));
    };
    return { provider, collect };
  };

  afterEach(() => globalApi.disable());

  it("counts, measures and watches on a meter", async () => {
    const { provider, collect } = exported();
    const metrics = await openTelemetryMetrics(provider.getMeter("test"));
    metrics.observe(event({ attempts: 2 }));
    metrics.observe(event({ kind: "in_progress", attempts: 0, handlerDuration: undefined, duration: 1 }));
    metrics.watch(source({ kept: 6 * day }), { shard: "3" });
    metrics.watch(broken, { shard: "4" });
    const found = await collect();
    const of = (name: string) => found.get(name)?.dataPoints.map(({ attributes, value }) => [attributes, value]);

    expect(of("samekey.requests")).toEqual([
      [{ scope: "transfers", outcome: "executed" }, 1],
      [{ scope: "transfers", outcome: "in_progress" }, 1],
    ]);
    expect(of("samekey.handler.retries")).toEqual([[{ scope: "transfers" }, 1]]);
    expect(of("samekey.retention.shortfall")).toEqual([[{ shard: "3" }, 86_400]]);
    expect(of("samekey.retention.up")).toEqual([
      [{ shard: "3" }, 1],
      [{ shard: "4" }, 0],
    ]);
    const duration = found.get("samekey.request.duration");
    expect(duration?.unit).toBe("s");
    expect(duration?.dataPoints[0]?.value).toMatchObject({
      count: 1,
      sum: 0.02,
      buckets: { boundaries: expect.arrayContaining([0.001, 60]) },
    });
  });

  it("is the global provider's meter unless told otherwise", async () => {
    const { provider, collect } = exported();
    globalApi.setGlobalMeterProvider(provider);
    const metrics = await openTelemetryMetrics();
    metrics.observe(event());
    expect((await collect()).get("samekey.requests")?.dataPoints).toHaveLength(1);
  });

  it("counts nothing, and throws nothing, where no provider is set up", async () => {
    const metrics = await openTelemetryMetrics();
    metrics.observe(event());
    metrics.watch(source());
  });

  it("has the names that an exporter turns into those of prometheusMetrics", async () => {
    const { provider, collect } = exported();
    const other = await openTelemetryMetrics(provider.getMeter("test"));
    const { metrics, scrape } = prometheus();
    for (const each of [metrics, other]) {
      each.observe(event({ attempts: 2 }));
      each.watch(source());
    }
    const sums = ["samekey.requests", "samekey.handler.retries"];
    const converted = [...(await collect()).values()].map(
      ({ name, unit }) =>
        name.replaceAll(".", "_") + (unit === "s" ? "_seconds" : "") + (sums.includes(name) ? "_total" : ""),
    );
    const types = (await scrape()).filter((line) => line.startsWith("# TYPE")).map((line) => line.split(" ")[2]);
    expect(converted.sort()).toEqual(types.sort());
  });
});
