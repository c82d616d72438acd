import { describe, expect, it, vi } from "vitest";
import type { AttemptEnd, ObservedAttempt, Telemetry } from "../../../src/client/telemetry.js";
import { post } from "../../../src/index.js";
import { createTestSdk, lose } from "../../../src/testing/index.js";

const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const operations = { transfer: post<{ amount: number }, { id: string }>("/transfers") };

describe("telemetry", () => {
  it("follows a call and each of its attempts, and the record keeps where the call stood in a trace", async () => {
    const told: string[] = [];
    const seen: [ObservedAttempt, AttemptEnd][] = [];
    const telemetry: Telemetry = {
      join: () => ({
        onCall({ kind, operation }) {
          told.push(`${kind} ${operation}`);
          return { traceparent, end: (record) => told.push(`end ${record?.state}`) };
        },
        onAttempt: (attempt) => ({ headers: { traceparent }, end: (ended) => seen.push([attempt, ended]) }),
      }),
    };
    const app = createTestSdk({ operations, telemetry });
    app.server.script(lose.response());
    const { id } = await app.until(app.sdk.operation("transfer", { amount: 1 }).send());
    expect(told).toEqual(["send transfer", "end succeeded"]);
    expect(
      seen.map(([{ record, call, isBase }, { verdict, replayed }]) => [
        record.attempts,
        call?.traceparent,
        isBase,
        verdict,
        replayed,
      ]),
    ).toEqual([
      [1, traceparent, true, "retry", false],
      [2, traceparent, true, "succeeded", true],
    ]);
    expect((await app.sdk.get(id))?.traceparent).toBe(traceparent);
  });

  it("harms no operation, whatever of it throws, and calls fetch once for each attempt", async () => {
    const fault = (): never => {
      throw new Error("away");
    };
    const log = vi.fn();
    const parts = [
      { join: fault },
      { join: () => ({ onCall: fault, onAttempt: fault, onStore: fault }) },
      { join: () => ({ onCall: () => ({ end: fault }), onAttempt: () => ({ run: fault, end: fault }) }) },
    ] as unknown as Telemetry[];
    const app = createTestSdk({ operations, telemetry: parts, log });
    const result = await app.until(app.sdk.operation("transfer", { amount: 1 }).send());
    expect(result).toMatchObject({ source: "executed", attempts: 1 });
    expect(app.server.effects).toHaveLength(1);
    expect(log).toHaveBeenCalledWith(expect.objectContaining({ message: "telemetry failed" }));
  });

  it.each<[string, <T>(work: () => T) => unknown]>([
    ["twice", (work) => [work(), work()]],
    ["later", (work) => void queueMicrotask(work)],
    ["in a promise of its own", async (work) => work()],
  ])("sends an attempt once, although an observer calls it %s", async (_, run) => {
    const telemetry = { join: () => ({ onAttempt: () => ({ run, end: () => {} }) }) } as unknown as Telemetry;
    const app = createTestSdk({ operations, telemetry });
    app.server.script(lose.response());
    const result = await app.until(app.sdk.operation("transfer", { amount: 1 }).send());
    expect(result).toMatchObject({ source: "replayed", attempts: 2 });
    expect(app.server.requests).toHaveLength(2);
  });

  it("goes on although what an observer answers throws when it is looked at, or rejects", async () => {
    const fault = async (): Promise<never> => {
      throw new Error("away");
    };
    const unreadable = {
      get headers(): never {
        throw new Error("not to be read");
      },
      end: fault,
    };
    const log = vi.fn();
    const parts = [
      { join: () => ({ onCall: () => ({ end: fault }), onAttempt: () => unreadable, onClose: fault }) },
      { join: () => ({ onCall: fault, onAttempt: fault }) },
    ] as unknown as Telemetry[];
    const app = createTestSdk({ operations, telemetry: parts, log });
    await app.until(app.sdk.operation("transfer", { amount: 1 }).send());
    await app.sdk.close();
    expect(app.server.effects).toHaveLength(1);
    expect(log).toHaveBeenCalledWith(expect.objectContaining({ message: "telemetry failed" }));
  });
});
