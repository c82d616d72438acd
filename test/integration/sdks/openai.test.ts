/** OpenAI's SDK. Its API knows no keys, so that a second request is a second bill. */

import OpenAI from "openai";
import type { WrappedFetch } from "samekey";
import { sendsOnce } from "./sends-once.js";
import { openaiOver } from "./subjects/openai.js";

const ask = async (fetch: WrappedFetch, url: string, maxRetries?: number) => {
  const client = openaiOver(fetch, url, maxRetries === undefined ? {} : { maxRetries });
  return (await client.responses.create({ model: "m", input: "hello" })).id;
};

sendsOnce("openai", {
  handle: () => Response.json({ id: "a-1", object: "response", output: [] }),
  ask: (fetch, url) => ask(fetch, url),
  askOnce: (fetch, url) => ask(fetch, url, 0),
  stream: (fetch, url) => {
    const messages = [{ role: "user" as const, content: "hello" }];
    return openaiOver(fetch, url).chat.completions.create({ model: "m", messages, stream: true });
  },
  events: ['data: {"id":"1"}\n\n', 'data: {"id":"2"}\n\n'],
  upload: async (fetch, url, file) => (await openaiOver(fetch, url).files.create({ file, purpose: "batch" })).id,
  errors: {
    connection: OpenAI.APIConnectionError,
    400: OpenAI.BadRequestError,
    403: OpenAI.PermissionDeniedError,
    404: OpenAI.NotFoundError,
    409: OpenAI.ConflictError,
    422: OpenAI.UnprocessableEntityError,
  },
});
