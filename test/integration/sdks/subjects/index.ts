/** SDKs of other makers, each with the call that a program makes through it. */

import { anthropic } from "./anthropic.js";
import { axios } from "./axios.js";
import { graphqlRequest } from "./graphql-request.js";
import { ky } from "./ky.js";
import { ofetch } from "./ofetch.js";
import { openai } from "./openai.js";
import { openapiFetch } from "./openapi-fetch.js";
import { stripe } from "./stripe.js";
import type { Subject } from "./subject.js";
import { supabase } from "./supabase.js";
import { trpc } from "./trpc.js";

export const subjects: Readonly<Record<string, Subject>> = {
  anthropic,
  axios,
  "graphql-request": graphqlRequest,
  ky,
  ofetch,
  openai,
  "openapi-fetch": openapiFetch,
  stripe,
  supabase,
  trpc,
};
