import * as api from "@opentelemetry/api";
import client, { Registry } from "prom-client";
import { createSdk, post, type Telemetry } from "samekey";
import { openTelemetry, prometheus } from "samekey/telemetry";
import { expectTypeOf, test } from "vitest";

test("both take the real libraries, and give what createSdk takes, one or several", () => {
  expectTypeOf(openTelemetry(api)).toEqualTypeOf<Telemetry>();
  expectTypeOf(openTelemetry(api, { traces: false, propagateTo: ["https://a.example"] })).toEqualTypeOf<Telemetry>();
  expectTypeOf(prometheus(client)).toEqualTypeOf<Telemetry>();
  expectTypeOf(prometheus(client, { registry: new Registry() })).toEqualTypeOf<Telemetry>();
  const options = {
    name: "a",
    owner: "single",
    retention: "24h",
    operations: { transfer: post("/transfers") },
  } as const;
  createSdk({ ...options, telemetry: openTelemetry(api) });
  createSdk({ ...options, telemetry: [openTelemetry(api), prometheus(client)] });
});

test("neither takes anything else", () => {
  // @ts-expect-error: the module is needed, not a part of it
  openTelemetry(api.trace);
  // @ts-expect-error: the registry is an option
  prometheus(new Registry());
  // @ts-expect-error: no such option
  openTelemetry(api, { propagate: true });
});
