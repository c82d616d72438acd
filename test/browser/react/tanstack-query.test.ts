import { QueryClient, QueryClientProvider, useMutation, useMutationState, useQuery } from "@tanstack/react-query";
import { createElement as h } from "react";
import { connectQueryClient, operationMutation } from "samekey/tanstack-query";
import { delay, lose, status, unauthorized } from "samekey/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { freshName } from "../../contract/indexeddb.tools.js";
import { openSdk } from "../client/tools.js";
import { mount } from "./tools.js";

const eventually = <T>(look: () => T) => expect.poll(look, { timeout: 10_000, interval: 10 });

type TestSdk = ReturnType<typeof openSdk>["sdk"];

function connect(sdk: TestSdk, client = new QueryClient()): QueryClient {
  onTestFinished(connectQueryClient(sdk, client, { invalidates: { transfer: [["accounts"]] } }));
  onTestFinished(() => client.clear());
  return client;
}

const underWay = (client: QueryClient) =>
  client
    .getMutationCache()
    .getAll()
    .map(({ state: { status, variables, data } }) => ({ status, variables, data }));

test("a mutation sends one operation, whose result is its data, and invalidates what it makes out of date", async () => {
  const { sdk, server } = openSdk();
  const client = connect(sdk);
  let asked = 0;
  const shop = () => {
    const accounts = useQuery({ queryKey: ["accounts"], queryFn: () => ++asked });
    const payment = useMutation(operationMutation(sdk, "transfer", { intent: ({ amount }) => `order-${amount}` }));
    const pay = () => payment.mutate({ amount: 5 });
    return h("button", { type: "button", onClick: pay }, `${payment.status} ${payment.data?.id} ${accounts.data}`);
  };
  const page = mount(() => h(QueryClientProvider, { client }, h(shop)));
  await eventually(page.text).toBe("idle undefined 1");
  page.element.querySelector("button")?.click();
  page.element.querySelector("button")?.click();
  await eventually(page.text).toBe("success 1 2");
  expect(server.calls).toHaveLength(1);
  expect(await sdk.find({ name: "transfer", intent: "order-5" })).toMatchObject({ state: "succeeded" });
});

test("it is retried by samekey alone, under one key; a refusal is its error", async () => {
  const { sdk, server } = openSdk();
  const client = new QueryClient({ defaultOptions: { mutations: { retry: 5 } } });
  server.script(lose.response());
  const observe = () => client.getMutationCache().build(client, operationMutation(sdk, "transfer"));
  expect(await observe().execute({ amount: 1 })).toEqual({ id: "1" });
  server.script(status(402));
  const refused = observe();
  await expect(refused.execute({ amount: 2 })).rejects.toMatchObject({ name: "RejectedError", code: "rejected" });
  expect(refused.state).toMatchObject({ status: "error", failureCount: 1 });
  expect(new Set(server.calls.map(({ key }) => key)).size).toBe(2);
  expect(server.calls).toHaveLength(3);
});

test("what an earlier page left under way is a mutation again: pending with its variables, then success", async () => {
  const name = freshName();
  const { sdk: earlier, server } = openSdk({ name });
  const { sdk } = openSdk({ name }, server);
  const { id } = await earlier.operation("transfer", { amount: 5 }, { intent: "order-1" }).save();
  await earlier.close();
  server.script(delay(200));
  const client = new QueryClient();
  const told: unknown[] = [];
  client.setMutationDefaults(["samekey", "transfer"], { onSuccess: (data) => told.push(data) });
  client.setQueryData(["accounts"], 1);
  const invalidated = vi.spyOn(client, "invalidateQueries");
  const settled = new Promise((tell) => sdk.on("settled", tell));
  connect(sdk, client);
  const list = () =>
    useMutationState({ filters: { mutationKey: ["samekey", "transfer"] } })
      .map(({ status, variables, data }) => JSON.stringify([status, variables, data]))
      .join();
  const page = mount(() => h(QueryClientProvider, { client }, h(list)));
  await eventually(page.text).toBe('["pending",{"amount":5},null]');
  await eventually(page.text).toBe('["success",{"amount":5},{"id":"1"}]');
  expect(told).toEqual([{ id: "1" }]);
  await settled;
  expect(client.getQueryState(["accounts"])?.isInvalidated).toBe(true);
  expect(invalidated).toHaveBeenCalledTimes(1);
  expect(await sdk.get(id)).toMatchObject({ intent: "order-1" });
  expect(server.effects).toHaveLength(1);
});

test("connected again, or connected while it is sent, it is one mutation", async () => {
  const { sdk, server } = openSdk();
  server.script(delay(500, { times: 2 }));
  const client = new QueryClient();
  const told: unknown[] = [];
  client.setMutationDefaults(["samekey", "transfer"], { onSuccess: (_, variables) => told.push(variables) });
  void client.getMutationCache().build(client, operationMutation(sdk, "transfer")).execute({ amount: 1 });
  await sdk.operation("transfer", { amount: 2 }).save();
  await eventually(() => sdk.counts()).toEqual({ pending: 2 });
  connectQueryClient(sdk, client)();
  connect(sdk, client);
  await eventually(() => underWay(client).map(({ variables }) => variables)).toEqual([{ amount: 1 }, { amount: 2 }]);
  connect(sdk, client);
  await eventually(() => underWay(client).map(({ status }) => status)).toEqual(["success", "success"]);
  expect(told).toHaveLength(2);
  expect(server.effects).toHaveLength(2);
});

test("one that is blocked is an error, nothing is unhandled, and it is taken up for the next who signs in", async () => {
  const rejections: unknown[] = [];
  const listener = (event: PromiseRejectionEvent): void => void rejections.push(event.reason);
  addEventListener("unhandledrejection", listener);
  onTestFinished(() => removeEventListener("unhandledrejection", listener));
  const session = { user: "ada" };
  const { sdk, server } = openSdk({ owner: () => session.user });
  server.script(unauthorized({ times: 2 }));
  await sdk.operation("transfer", { amount: 5 }).outcome();
  const client = connect(sdk);
  await eventually(() => underWay(client)).toMatchObject([{ status: "error", variables: { amount: 5 } }]);
  session.user = "bob";
  await sdk.counts();
  session.user = "ada";
  await sdk.counts();
  await eventually(() => underWay(client)).toEqual([
    { status: "success", variables: { amount: 5 }, data: { id: "1" } },
  ]);
  expect(rejections).toEqual([]);
});
