import { useMutation } from "@tanstack/react-query";
import { createSdk, del, type MisuseError, type Outcome, post, type SamekeyError, type Snapshot } from "samekey";
import { useOperation, usePendingOperations } from "samekey/react";
import { connectQueryClient, operationMutation } from "samekey/tanstack-query";
import { describe, expectTypeOf, test } from "vitest";

interface Transfer {
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
    named: post<Transfer, Receipt>("/named", { intent: "required" }),
    ping: post("/ping"),
    drop: del<undefined, number>("/drop", { intent: "required" }),
  },
});

describe("useOperation", () => {
  test("infers body, result and refusal from the sdk's operations", () => {
    const payment = useOperation(sdk, "transfer");
    expectTypeOf(payment.data).toEqualTypeOf<Receipt | undefined>();
    expectTypeOf(payment.state).toEqualTypeOf<Snapshot["state"]>();
    expectTypeOf(payment.outcome).toEqualTypeOf<Outcome<Receipt, Refusal> | undefined>();
    expectTypeOf(payment.error).extract<MisuseError<Refusal>>().toEqualTypeOf<MisuseError<Refusal>>();
    expectTypeOf(payment.error).toExtend<SamekeyError | undefined>();
    expectTypeOf(payment.send({ amount: 1 }, { intent: "x" })).resolves.toEqualTypeOf<Outcome<Receipt, Refusal>>();
    // @ts-expect-error the body is missing
    payment.send();
    // @ts-expect-error a member is wrong
    payment.send({ amount: "1" });
    // @ts-expect-error no such operation
    useOperation(sdk, "transfr");
    // @ts-expect-error no such option
    useOperation(sdk, "transfer", { key: "x" });
  });

  test("an intent that the operation requires is given to the hook or to each send", () => {
    useOperation(sdk, "named", { intent: "order-1" }).send({ amount: 1 });
    useOperation(sdk, "named").send({ amount: 1 }, { intent: "order-1" });
    useOperation(sdk, "drop", { intent: "order-1" }).send();
    // @ts-expect-error no intent
    useOperation(sdk, "named").send({ amount: 1 });
    // @ts-expect-error an intent that may be absent
    useOperation(sdk, "named", { intent: undefined }).send({ amount: 1 });
    // @ts-expect-error the body is missing
    useOperation(sdk, "named", { intent: "order-1" }).send();
  });

  test("a body is optional where its type says so", () => {
    useOperation(sdk, "ping").send();
    // @ts-expect-error it takes no body
    useOperation(sdk, "ping").send({ amount: 1 });
  });

  test("the list is of snapshots", () => {
    expectTypeOf(usePendingOperations(sdk)).toEqualTypeOf<readonly Snapshot[]>();
  });
});

describe("TanStack Query", () => {
  test("a mutation's variables, data and error are the operation's", () => {
    const payment = useMutation(operationMutation(sdk, "transfer"));
    expectTypeOf(payment.data).toEqualTypeOf<Receipt | undefined>();
    expectTypeOf(payment.error).toEqualTypeOf<SamekeyError | null>();
    expectTypeOf(payment.variables).toEqualTypeOf<Transfer | undefined>();
    payment.mutate({ amount: 1 });
    // @ts-expect-error a member is wrong
    payment.mutate({ amount: "1" });
    useMutation(operationMutation(sdk, "ping")).mutate(undefined);
  });

  test("callbacks see the same types, and what onMutate answers with", () => {
    useMutation({
      ...operationMutation(sdk, "transfer", { intent: ({ amount }) => `order-${amount}` }),
      onMutate: () => ({ before: 1 }),
      onSuccess: (data) => expectTypeOf(data).toEqualTypeOf<Receipt>(),
      onError: (error, variables, context) => {
        expectTypeOf(error).toEqualTypeOf<SamekeyError>();
        expectTypeOf(variables).toEqualTypeOf<Transfer>();
        expectTypeOf(context).toEqualTypeOf<{ before: number } | undefined>();
      },
    });
  });

  test("an intent that the operation requires must be given", () => {
    operationMutation(sdk, "named", { intent: "order-1" });
    operationMutation(sdk, "named", { intent: ({ amount }) => `order-${amount}` });
    // @ts-expect-error no options
    operationMutation(sdk, "named");
    // @ts-expect-error an intent that may be absent
    operationMutation(sdk, "named", { intent: undefined });
  });

  test("only declared operations invalidate", () => {
    connectQueryClient(sdk, {} as never, { invalidates: { transfer: [["accounts"]] } });
    // @ts-expect-error no such operation
    connectQueryClient(sdk, {} as never, { invalidates: { transfr: [["accounts"]] } });
  });
});
