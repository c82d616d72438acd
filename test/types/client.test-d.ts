import {
  type CallOptions,
  type CanceledError,
  createSdk,
  del,
  type MisuseError,
  type OperationHandle,
  type OperationRecord,
  type Outcome,
  type PendingError,
  patch,
  post,
  put,
  type RejectedError,
  type ResultError,
  type SamekeyError,
  type SendResult,
  type Snapshot,
  type UnknownOutcomeError,
  wrapFetch,
} from "samekey";
import { createTestSdk } from "samekey/testing";
import { describe, expectTypeOf, test } from "vitest";
import { z } from "zod";

interface Transfer {
  readonly src: number;
  readonly amount: number;
}
interface Receipt {
  readonly id: string;
}
interface Refusal {
  readonly reason: string;
}

const sdk = createSdk({
  name: "types",
  owner: "single",
  retention: "24h",
  operations: {
    transfer: post<Transfer, Receipt, Refusal>("/transfers"),
    refund: put<Transfer, Receipt>((body) => `/payments/${body.src}/refunds`),
    note: patch<string | undefined, void>("/note"),
    ping: post("/ping"),
    drop: del<undefined, number>("/drop"),
    named: post<Transfer, Receipt>("/named", { intent: "required" }),
    namedEmpty: post<undefined, Receipt>("/named", { intent: "required" }),
    parsed: post("/parsed", {
      body: z.object({ amount: z.number(), note: z.string().optional() }),
      result: z.object({ id: z.coerce.number() }),
      error: z.object({ reason: z.string() }),
    }),
    defaulted: post("/defaulted", { body: z.object({ amount: z.number().default(1) }) }),
  },
});

describe("a call", () => {
  test("an unknown operation is an error", () => {
    // @ts-expect-error no such operation
    sdk.operation("transfr", { src: 1, amount: 2 });
    // @ts-expect-error no such operation
    sdk.attach({ name: "transfr", intent: "x" });
  });

  test("a missing or wrong body is an error", () => {
    sdk.operation("transfer", { src: 1, amount: 2 });
    // @ts-expect-error the body is missing
    sdk.operation("transfer");
    // @ts-expect-error a member is missing
    sdk.operation("transfer", { src: 1 });
    // @ts-expect-error a member is wrong
    sdk.operation("transfer", { src: 1, amount: "2" });
    // @ts-expect-error a member too many
    sdk.operation("transfer", { src: 1, amount: 2, dst: 3 });
  });

  test("a body is optional only where its type includes undefined", () => {
    sdk.operation("ping");
    sdk.operation("ping", undefined, { intent: "x" });
    sdk.operation("note");
    sdk.operation("note", "text");
    // @ts-expect-error it takes no body
    sdk.operation("ping", { a: 1 });
    // @ts-expect-error not text
    sdk.operation("note", 7);
  });

  test('intent: "required" makes forgetting it an error', () => {
    sdk.operation("named", { src: 1, amount: 2 }, { intent: "order-1" });
    sdk.operation("namedEmpty", undefined, { intent: "order-1" });
    // @ts-expect-error no options
    sdk.operation("named", { src: 1, amount: 2 });
    // @ts-expect-error no intent
    sdk.operation("named", { src: 1, amount: 2 }, { lane: "x" });
    // @ts-expect-error an intent that may be absent
    sdk.operation("named", { src: 1, amount: 2 }, { intent: undefined });
    // @ts-expect-error no intent
    sdk.operation("namedEmpty");
  });

  test("options accept undefined, and no others exist", () => {
    const options: CallOptions = {
      intent: undefined,
      id: undefined,
      key: undefined,
      owner: undefined,
      lane: undefined,
    };
    sdk.operation("ping", undefined, { ...options, headers: undefined, deadline: undefined });
    // @ts-expect-error no such option
    sdk.operation("ping", undefined, { idempotencyKey: "x" });
    // @ts-expect-error no duration
    sdk.operation("ping", undefined, { deadline: "soon" });
  });
});

describe("an unknown outcome", () => {
  test("has the id that reconcile takes, caught or as a value", async () => {
    const outcome = await sdk.operation("ping").outcome();
    if (outcome.state === "unresolved") await sdk.reconcile(outcome.error.id, "applied");
    const caught = {} as UnknownOutcomeError;
    expectTypeOf(caught.key).toEqualTypeOf<string>();
    expectTypeOf(caught.record.attempts).toEqualTypeOf<number>();
  });
});

describe("inference", () => {
  test("from generics", () => {
    const handle = sdk.operation("transfer", { src: 1, amount: 2 });
    expectTypeOf(handle).toEqualTypeOf<OperationHandle<Receipt, Refusal>>();
    expectTypeOf(handle.send).returns.resolves.toEqualTypeOf<SendResult<Receipt>>();
    expectTypeOf(handle.save).returns.resolves.toEqualTypeOf<OperationRecord>();
    expectTypeOf(handle.outcome).returns.resolves.toEqualTypeOf<Outcome<Receipt, Refusal>>();
    expectTypeOf(handle.cancel).returns.resolves.toEqualTypeOf<OperationRecord | undefined>();
    expectTypeOf(handle.getSnapshot()).toEqualTypeOf<Snapshot<Receipt, Refusal>>();
    expectTypeOf(sdk.operation("drop").send).returns.resolves.toHaveProperty("data").toEqualTypeOf<number>();
    expectTypeOf(sdk.operation("note").send).returns.resolves.toHaveProperty("data").toEqualTypeOf<void>();
    expectTypeOf(sdk.operation("ping").send).returns.resolves.toHaveProperty("data").toBeUnknown();
  });

  test("the path sees the body", () => {
    post<Transfer>((body) => {
      expectTypeOf(body).toEqualTypeOf<Transfer>();
      return "/";
    });
    // @ts-expect-error a path is text
    post<Transfer>(() => 7);
  });

  test("from Standard Schema", () => {
    const handle = sdk.operation("parsed", { amount: 1 });
    expectTypeOf(handle).toEqualTypeOf<OperationHandle<{ id: number }, { reason: string }>>();
    sdk.operation("parsed", { amount: 1, note: "x" });
    // @ts-expect-error the body is missing
    sdk.operation("parsed");
    // @ts-expect-error a member is wrong
    sdk.operation("parsed", { amount: "1" });
    // What the schema fills in need not be given.
    sdk.operation("defaulted", {});
  });

  test("attach knows the operation by its name, not by its id", () => {
    expectTypeOf(sdk.attach({ name: "transfer", intent: "x" })).toEqualTypeOf<OperationHandle<Receipt, Refusal>>();
    expectTypeOf(sdk.attach("some-id")).toEqualTypeOf<OperationHandle<unknown, unknown>>();
  });

  test("createTestSdk infers the same", () => {
    const { sdk: tested } = createTestSdk({ operations: { transfer: post<Transfer, Receipt>("/transfers") } });
    expectTypeOf(tested.operation("transfer", { src: 1, amount: 2 }).send).returns.resolves.toEqualTypeOf<
      SendResult<Receipt>
    >();
    // @ts-expect-error the body is missing
    tested.operation("transfer");
  });
});

test("outcome() is discriminated by its state", async () => {
  const outcome = await sdk.operation("transfer", { src: 1, amount: 2 }).outcome();
  switch (outcome.state) {
    case "succeeded":
      expectTypeOf(outcome.result).toEqualTypeOf<SendResult<Receipt>>();
      expectTypeOf(outcome.result.source).toEqualTypeOf<"executed" | "replayed" | "store">();
      break;
    case "unreadable":
      expectTypeOf(outcome.error).toEqualTypeOf<ResultError>();
      break;
    case "rejected":
    case "expired":
      expectTypeOf(outcome.error).toEqualTypeOf<RejectedError<Refusal>>();
      expectTypeOf(outcome.error.data).toEqualTypeOf<Refusal | undefined>();
      expectTypeOf(outcome.error.code).toEqualTypeOf<"rejected" | "expired">();
      break;
    case "misused":
      expectTypeOf(outcome.error).toEqualTypeOf<MisuseError<Refusal>>();
      break;
    case "canceled":
      expectTypeOf(outcome.error).toEqualTypeOf<CanceledError>();
      break;
    case "unresolved":
      expectTypeOf(outcome.error).toEqualTypeOf<UnknownOutcomeError<Refusal>>();
      break;
    case "pending":
    case "blocked":
      expectTypeOf(outcome.error).toEqualTypeOf<PendingError<Refusal> | MisuseError<Refusal>>();
      break;
    case "unsaved":
      expectTypeOf(outcome.error).toEqualTypeOf<SamekeyError>();
      break;
    default:
      expectTypeOf(outcome).toBeNever();
  }
  // @ts-expect-error not before the state is looked at
  outcome.result;
});

test("options of createSdk", () => {
  // @ts-expect-error the owner is missing
  createSdk({ name: "x" });
  // @ts-expect-error the name is missing
  createSdk({ owner: "single" });
  // @ts-expect-error an owner is a function or "single"
  createSdk({ name: "x", owner: "ada" });
  // @ts-expect-error no such option
  createSdk({ name: "x", owner: "single", retries: 3 });
  createSdk({ name: "x", owner: () => undefined, wait: undefined, headers: undefined, store: undefined });
  createSdk({ name: "x", owner: () => null, headers: async ({ owner }) => ({ authorization: owner }) });
  createSdk({ name: "x", owner: "single", headers: () => null });
  // @ts-expect-error a header is text
  createSdk({ name: "x", owner: "single", headers: () => ({ a: 1 }) });
  // @ts-expect-error no such option of an operation
  post("/x", { unprocessable: "ok" });
});

test("events", () => {
  sdk.on("settled", (record) => expectTypeOf(record).toEqualTypeOf<OperationRecord>());
  sdk.on("ownerchange", ({ owner }) => expectTypeOf(owner).toEqualTypeOf<string | undefined>());
  // @ts-expect-error no such event
  sdk.on("done", () => {});
});

test("sdk.fetch and a wrapped fetch stand where a fetch is wanted, and know samekey's own options", () => {
  const wrapped = wrapFetch(fetch, {
    name: "a",
    owner: "single",
    retention: "24h",
    only: ({ url }) => url.port === "",
  });
  expectTypeOf(wrapped).toExtend<typeof fetch>();
  expectTypeOf(createTestSdk().sdk.fetch).toExtend<typeof fetch>();
  expectTypeOf(wrapped).toBeCallableWith("/t", { method: "POST", body: new FormData(), intent: "i", deadline: "1h" });
  expectTypeOf(wrapped.sdk.start).returns.toBeVoid();
  // @ts-expect-error whose operations these are has to be said
  wrapFetch(fetch, { name: "a", retention: "24h", only: "/v1" });
});
