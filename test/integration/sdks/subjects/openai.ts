import OpenAI, { type ClientOptions } from "openai";
import * as profiles from "samekey/profiles";
import type { Subject } from "./subject.js";

const apiKey = "sk-1";

export const openai: Subject = {
  options: (url) => ({
    profile: profiles.openai,
    baseUrl: url,
    headers: () => ({ authorization: `Bearer ${apiKey}` }),
  }),
  pay: async (fetch, url) => {
    const asking = openaiOver(fetch, url).responses.create(
      { model: "m", input: "ä" },
      { headers: { "Idempotency-Key": "order-1" } },
    );
    return await asking.then(
      ({ id }) => ({ id }),
      ({ cause }: Error) => ({ failed: (cause as Error).name }),
    );
  },
};

/** The SDK as a program makes it, but for the address. */
export function openaiOver(fetch: typeof globalThis.fetch, url: string, more: ClientOptions = {}): OpenAI {
  return new OpenAI({ apiKey, baseURL: `${url}/v1`, fetch, ...more });
}
