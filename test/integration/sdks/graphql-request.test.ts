import { buildSchema, graphql } from "graphql";
import { ClientError, GraphQLClient, gql } from "graphql-request";
import { expect, test } from "vitest";
import { keepsThePromise } from "./promise.js";

const schema = buildSchema(`
  type Payment { id: ID! }
  type Query { balance: Int! }
  type Mutation { pay(order: ID!, amount: Int!): Payment }
`);
const rootValue = {
  balance: () => 100,
  pay: ({ order, amount }: { order: string; amount: number }) => {
    if (amount > 100) throw new Error("no funds");
    return { id: `p-${order}` };
  },
};

interface Call {
  readonly query?: string;
  readonly variables?: Record<string, unknown>;
}

const at = keepsThePromise("graphql-request", {
  handle: async (request) => {
    const search = new URL(request.url).searchParams;
    const { query, variables }: Call = request.method === "GET" ? Object.fromEntries(search) : await request.json();
    return Response.json(await graphql({ schema, rootValue, source: query ?? "", variableValues: variables ?? {} }));
  },
  result: { pay: { id: "p-order-1" } },
  body: JSON.stringify({
    query:
      "\n  mutation Pay($order: ID!, $amount: Int!) {\n    pay(order: $order, amount: $amount) {\n      id\n    }\n  }\n",
    variables: { order: "order-1", amount: 5 },
    operationName: "Pay",
  }),
});

const pay = gql`mutation ($order: ID!, $amount: Int!) { pay(order: $order, amount: $amount) { id } }`;
const client = () => new GraphQLClient(`${at.api.url}/graphql`, { fetch: at.open() });

test("a query, over POST or GET, passes through: no key, no record", async () => {
  const fetch = at.open();
  for (const method of ["POST", "GET"] as const) {
    const api = new GraphQLClient(`${at.api.url}/graphql`, { fetch, method });
    expect(await api.request("{ balance }")).toEqual({ balance: 100 });
  }
  expect(at.api.arrivals.map(({ method, key }) => [method, key])).toEqual([
    ["POST", undefined],
    ["GET", undefined],
  ]);
  expect(await fetch.sdk.counts()).toEqual({});
});

test("errors with 200 are its ClientError: the mutation was answered, and is not sent again", async () => {
  at.api.script("lose");
  const variables = { order: "order-2", amount: 500 };
  for (const source of ["network", "store"]) {
    const error = await client()
      .request(pay, variables)
      .catch((e: unknown) => e);
    expect(error, source).toBeInstanceOf(ClientError);
    const { response } = error as ClientError;
    expect([response.status, response.errors?.[0]?.message]).toEqual([200, "no funds"]);
  }
  expect(at.api.arrivals).toHaveLength(2);
});

test("a refusal of the request itself is its ClientError", async () => {
  at.api.script(Response.json({ errors: [{ message: "Syntax Error" }] }, { status: 400 }));
  const error = await client()
    .request(pay, { order: "order-3", amount: 1 })
    .catch((e: unknown) => e);
  expect((error as ClientError).response).toMatchObject({ status: 400, errors: [{ message: "Syntax Error" }] });
});
