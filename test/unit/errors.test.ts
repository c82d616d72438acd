import { describe, expect, expectTypeOf, it, vi } from "vitest";
import type { OperationRecord } from "../../src/core/record.js";
import * as errors from "../../src/errors.js";
import {
  CanceledError,
  type ErrorCode,
  type ErrorRecord,
  type MisuseCode,
  MisuseError,
  type PendingCode,
  PendingError,
  RejectedError,
  type ResultError,
  SamekeyError,
  type StoreCode,
  StoreError,
  type UnknownOutcomeError,
} from "../../src/errors.js";

type AnyClass = new (code: never, details?: errors.ErrorDetails) => SamekeyError;

/** Every class with every code that it can carry: complete, or it does not compile. */
const codes = {
  MisuseError: {
    key_reused: 1,
    unprocessable: 1,
    key_missing: 1,
    intent_mismatch: 1,
    already_sent: 1,
    already_settled: 1,
    in_flight: 1,
    unknown_operation: 1,
    bad_option: 1,
    body_not_replayable: 1,
  } satisfies Record<MisuseCode, 1>,
  RejectedError: { rejected: 1, expired: 1 } satisfies Record<errors.RejectedCode, 1>,
  UnknownOutcomeError: {
    key_expired: 1,
    deadline: 1,
    attempts: 1,
    refused_while_uncertain: 1,
    discarded: 1,
  } satisfies Record<errors.UnknownOutcomeCode, 1>,
  PendingError: { pending: 1, blocked: 1, closed: 1, lane: 1 } satisfies Record<PendingCode, 1>,
  StoreError: {
    not_durable: 1,
    store_full: 1,
    unavailable: 1,
    stalled: 1,
    corrupt: 1,
    newer_schema: 1,
    sealed: 1,
  } satisfies Record<StoreCode, 1>,
  ResultError: { unreadable: 1 } satisfies Record<errors.ResultCode, 1>,
  CanceledError: { canceled: 1 } satisfies Record<errors.CanceledCode, 1>,
};
type ClassName = keyof typeof codes;
const names = Object.keys(codes) as ClassName[];
const pairs = names.flatMap((name) => Object.keys(codes[name]).map((code) => [name, code as ErrorCode] as const));
const classOf = (name: ClassName, from: typeof errors = errors): AnyClass => from[name] as unknown as AnyClass;
const create = (name: ClassName, code: ErrorCode, details?: errors.ErrorDetails): SamekeyError =>
  new (classOf(name))(code as never, details);

const record = (change: Partial<ErrorRecord> = {}): ErrorRecord => ({
  id: "op-1",
  key: "key-1",
  name: "transfer",
  owner: "ada",
  state: "pending",
  attempts: 1,
  ...change,
});

const inDoubt = { uncertainSince: 1 };

/** What a record can tell of the effect. */
const situations: Record<string, ErrorRecord> = {
  "not sent so far": record({ attempts: 0 }),
  "in doubt": record(inDoubt),
  "under way": record({ mark: { at: 1, attempt: 1 } }),
  blocked: record({ state: "blocked" }),
  "blocked in doubt": record({ state: "blocked", ...inDoubt }),
  succeeded: record({ state: "succeeded", ...inDoubt }),
  rejected: record({ state: "rejected", ...inDoubt }),
  unresolved: record({ state: "unresolved", ...inDoubt }),
  "unresolved, the API does not deduplicate": record({ state: "unresolved", ...inDoubt, wire: { dedupes: false } }),
};

describe("every message says what happened, whether anything may have been applied, and what to do", () => {
  it.each(pairs)("%s %s", (name, code) => {
    const bare = create(name, code).message;
    const variants: Record<string, string> = { "(no record)": bare };
    for (const [situation, standing] of Object.entries(situations)) {
      const { message } = create(name, code, { record: standing });
      if (!Object.values(variants).includes(message)) variants[situation] = message;
    }
    const shown = Object.entries(variants).map(([situation, message]) => `${situation}: ${message}`);
    expect(`\n${shown.join("\n")}\n`).toMatchSnapshot();
  });

  it.each(pairs)("%s %s reads as plain sentences", (name, code) => {
    for (const standing of [undefined, ...Object.values(situations)]) {
      const { message } = create(name, code, { record: standing });
      const sentences = message.split(/(?<=\.) /);
      expect(sentences.length).toBeGreaterThanOrEqual(3);
      for (const sentence of sentences) expect(sentence).toMatch(/^[A-Z].*\.$/);
      expect(message).not.toMatch(/undefined|\[object|\.\.|\s\s/);
      expect(message).toMatch(/applied|sent/);
    }
  });

  it.each(pairs)("%s %s never denies what may have been applied", (name, code) => {
    // These say it of what they are about: the refused attempt, or an operation that was not sent.
    const ofItself = [
      "canceled",
      "rejected",
      "expired",
      "lane",
      "unknown_operation",
      "bad_option",
      "body_not_replayable",
    ];
    if (ofItself.includes(code) || name === "StoreError" || name === "ResultError") return;
    for (const situation of ["in doubt", "under way", "blocked in doubt", "unresolved"]) {
      const { message } = create(name, code, { record: situations[situation] });
      expect(message, situation).toMatch(/may (or may not )?have been applied/);
    }
  });

  it.each(pairs.filter(([name]) => name === "PendingError" || name === "MisuseError"))(
    "%s %s does not raise doubt about what is certain",
    (name, code) => {
      if (code === "key_reused" || code === "in_flight") return;
      for (const situation of ["not sent so far", "blocked", "succeeded", "rejected"]) {
        const { message } = create(name, code, { record: situations[situation] });
        expect(message, situation).not.toMatch(/may (or may not )?have been/);
      }
    },
  );

  it.each([
    ["a detail", "`wait` is -1", "An option is wrong: `wait` is -1. Nothing was recorded or sent. Correct the option."],
    [
      "a detail that ends its sentence",
      "gone.",
      "An option is wrong: gone. Nothing was recorded or sent. Correct the option.",
    ],
    ["no detail", undefined, "An option is wrong. Nothing was recorded or sent. Correct the option."],
    ["an empty detail", "", "An option is wrong. Nothing was recorded or sent. Correct the option."],
  ])("with %s", (_, detail, message) => {
    expect(new MisuseError("bad_option", { detail }).message).toBe(message);
  });
});

describe("a message tells of its record", () => {
  const entry = { at: 1, ms: 2, verdict: "retry" };
  it.each([
    ["an answer", { attempts: 4, history: [{ ...entry, status: 503 }] }, "the last of 4 attempts: HTTP 503."],
    [
      "what was thrown, while another is under way",
      { attempts: 2, history: [{ ...entry, cause: "TypeError ECONNREFUSED" }] },
      "the last of 2 attempts: TypeError ECONNREFUSED.",
    ],
    ["neither", { attempts: 1, history: [entry] }, "the last of 1 attempts: retry."],
  ])("why there is no outcome yet: %s", (_, change, told) => {
    for (const code of ["pending", "closed"] as const) {
      const { message } = new PendingError(code, { record: record(change), detail: "no outcome within 3000 ms" });
      expect(message).toContain(`: \`transfer\`: no outcome within 3000 ms; ${told} `);
    }
    expect(new PendingError("blocked", { record: record(change) }).message).not.toContain("attempts");
  });

  it("which operation it is, by its name and intent", () => {
    const named = { record: record({ intent: 'order "7"', state: "rejected" }), detail: "HTTP 402" };
    expect(new RejectedError("rejected", named).message).toMatch(
      /^The operation was refused: `transfer`, intent "order \\"7\\"": HTTP 402\. /,
    );
  });
});

describe("an error carries", () => {
  it("its code, its name, and nothing that it was not given", () => {
    for (const [name, code] of pairs) {
      const error = create(name, code);
      expect(error).toMatchObject({ code, name });
      for (const member of ["id", "key", "record", "status", "headers", "data", "fields", "cause"] as const) {
        expect(error[member]).toBeUndefined();
      }
      expect("cause" in error).toBe(false);
    }
    expect(new CanceledError().code).toBe("canceled");
  });

  it("what it was given", () => {
    const headers = new Headers();
    const given = {
      id: "a",
      key: "b",
      record: record(),
      cause: new Error("x"),
      status: 422,
      headers,
      data: { no: 1 },
      fields: ["url"],
    };
    const { detail: _, ...rest } = { detail: "x", ...given };
    expect(new MisuseError("unprocessable", given)).toMatchObject(rest);
  });

  it("its record's id and key, unless it was given others", () => {
    expect(new PendingError("pending", { record: record() })).toMatchObject({ id: "op-1", key: "key-1" });
    expect(new PendingError("pending", { record: record(), id: "x", key: "y" })).toMatchObject({ id: "x", key: "y" });
  });

  it("a cause that is falsy", () => {
    expect(new StoreError("unavailable", { cause: null }).cause).toBeNull();
  });
});

describe("an error is recognised", () => {
  it("by its class and by every class above, and by no other", () => {
    for (const [name, code] of pairs) {
      const error = create(name, code);
      expect(error instanceof SamekeyError).toBe(true);
      expect(error instanceof Error).toBe(true);
      for (const other of names) expect(error instanceof classOf(other)).toBe(other === name);
    }
  });

  it("across two copies of the package", { timeout: 30_000 }, async () => {
    vi.resetModules();
    const copy = (await import("../../src/errors.js")) as typeof errors;
    expect(copy.SamekeyError).not.toBe(SamekeyError);
    for (const [name, code] of pairs) {
      const error = create(name, code);
      expect(Object.getPrototypeOf(error)).not.toBe(copy[name].prototype);
      expect(error instanceof copy.SamekeyError).toBe(true);
      for (const other of names) expect(error instanceof classOf(other, copy)).toBe(other === name);
    }
  });

  it.each([null, undefined, "MisuseError", 1, {}, new Error("x"), { code: "bad_option", name: "MisuseError" }])(
    "and %j is none",
    (value) => {
      expect((value as unknown) instanceof SamekeyError).toBe(false);
      expect((value as unknown) instanceof MisuseError).toBe(false);
    },
  );

  it("by a user's own subclass only when it is one", () => {
    class OwnError extends MisuseError {}
    class OwnBase extends SamekeyError {}
    const plain = new MisuseError("bad_option");
    const own = new OwnError("bad_option");
    expect([plain instanceof OwnError, own instanceof OwnError, own instanceof MisuseError]).toEqual([
      false,
      true,
      true,
    ]);
    expect([plain instanceof OwnBase, new OwnBase("bad_option") instanceof OwnBase]).toEqual([false, true]);
    expect(own instanceof SamekeyError).toBe(true);
  });

  it("with no trace of the brand in what is printed or copied", () => {
    const error = new MisuseError("bad_option");
    expect(Object.keys(error)).not.toContain("kind");
    expect(Object.getOwnPropertySymbols({ ...error })).toEqual([]);
  });
});

describe("types", () => {
  it("each class has its own codes, and all together are the codes that there are", () => {
    expectTypeOf<MisuseError["code"]>().toEqualTypeOf<MisuseCode>();
    expectTypeOf<RejectedError["code"]>().toEqualTypeOf<"rejected" | "expired">();
    expectTypeOf<UnknownOutcomeError["code"]>().toEqualTypeOf<errors.UnknownOutcomeCode>();
    expectTypeOf<PendingError["code"]>().toEqualTypeOf<"pending" | "blocked" | "closed" | "lane">();
    expectTypeOf<StoreError["code"]>().toEqualTypeOf<StoreCode>();
    expectTypeOf<ResultError["code"]>().toEqualTypeOf<"unreadable">();
    expectTypeOf<CanceledError["code"]>().toEqualTypeOf<"canceled">();
    expectTypeOf<SamekeyError["code"]>().toEqualTypeOf<ErrorCode>();
    // @ts-expect-error: not a code of this class
    new PendingError("rejected");
  });

  it("instanceof and code narrow; data is typed; a whole record is a record", () => {
    const thrown: unknown = new RejectedError<{ reason: string }>("rejected");
    if (thrown instanceof RejectedError) expectTypeOf(thrown.code).toEqualTypeOf<"rejected" | "expired">();
    expectTypeOf<RejectedError<{ reason: string }>["data"]>().toEqualTypeOf<{ reason: string } | undefined>();
    expectTypeOf<OperationRecord>().toExtend<ErrorRecord>();
  });
});
