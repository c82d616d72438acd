import Anthropic, { type ClientOptions } from "@anthropic-ai/sdk";
import * as profiles from "samekey/profiles";
import type { Subject } from "./subject.js";

const apiKey = "sk-ant-1";

export const anthropic: Subject = {
  options: (url) => ({
    profile: profiles.anthropic,
    baseUrl: url,
    headers: () => ({ "x-api-key": apiKey }),
  }),
  pay: async (fetch, url) => {
    const asking = anthropicOver(fetch, url).messages.create(
      { model: "m", max_tokens: 9, messages: [{ role: "user", content: "ä" }] },
      { headers: { "Idempotency-Key": "order-1" } },
    );
    return await asking.then(
      ({ id }) => ({ id }),
      ({ cause }: Error) => ({ failed: (cause as Error).name }),
    );
  },
};

/** The SDK as a program makes it, but for the address. */
export function anthropicOver(fetch: typeof globalThis.fetch, url: string, more: ClientOptions = {}): Anthropic {
  return new Anthropic({ apiKey, baseURL: url, fetch, ...more });
}
