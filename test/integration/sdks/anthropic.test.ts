/** Anthropic's SDK. Its API knows no keys, so that a second request is a second bill. */

import Anthropic from "@anthropic-ai/sdk";
import type { WrappedFetch } from "samekey";
import { sendsOnce } from "./sends-once.js";
import { anthropicOver } from "./subjects/anthropic.js";

const prompt = { model: "m", max_tokens: 9, messages: [{ role: "user" as const, content: "hello" }] };

const ask = async (fetch: WrappedFetch, url: string, maxRetries?: number) => {
  const client = anthropicOver(fetch, url, maxRetries === undefined ? {} : { maxRetries });
  return (await client.messages.create(prompt)).id;
};

sendsOnce("anthropic", {
  handle: () => Response.json({ id: "a-1", type: "message", content: [] }),
  ask: (fetch, url) => ask(fetch, url),
  askOnce: (fetch, url) => ask(fetch, url, 0),
  stream: (fetch, url) => anthropicOver(fetch, url).messages.create({ ...prompt, stream: true }),
  events: [
    'event: message_start\ndata: {"type":"message_start"}\n\n',
    'event: message_stop\ndata: {"type":"message_stop"}\n\n',
  ],
  upload: async (fetch, url, file) => (await anthropicOver(fetch, url).beta.files.upload({ file })).id,
  errors: {
    connection: Anthropic.APIConnectionError,
    400: Anthropic.BadRequestError,
    403: Anthropic.PermissionDeniedError,
    404: Anthropic.NotFoundError,
    409: Anthropic.ConflictError,
    422: Anthropic.UnprocessableEntityError,
  },
});
