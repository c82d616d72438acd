import { GraphQLClient, gql } from "graphql-request";
import type { Subject } from "./subject.js";

const pay = gql`
  mutation Pay($order: ID!, $amount: Int!) {
    pay(order: $order, amount: $amount) {
      id
    }
  }
`;

export const graphqlRequest: Subject = {
  options: () => ({
    only: async ({ url, text }) => url.pathname === "/graphql" && /\bmutation\b/.test(await text()),
    intent: async ({ text }) => JSON.parse(await text()).variables.order,
  }),
  pay: (fetch, url) => new GraphQLClient(`${url}/graphql`, { fetch }).request(pay, { order: "order-1", amount: 5 }),
};
