/** SDKs of other makers, each with the call that a program makes through it. */

import { graphqlRequest } from "./graphql-request.js";
import { ky } from "./ky.js";
import { ofetch } from "./ofetch.js";
import { openapiFetch } from "./openapi-fetch.js";
import { stripe } from "./stripe.js";
import type { Subject } from "./subject.js";
import { trpc } from "./trpc.js";

export const subjects: Readonly<Record<string, Subject>> = {
  "graphql-request": graphqlRequest,
  ky,
  ofetch,
  "openapi-fetch": openapiFetch,
  stripe,
  trpc,
};
