const json = (response, status, headers, body) => {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
    ...headers,
  });
  response.end(text);
};

/** Sends the whole answer, or its first half. */
function answer(response, status, headers, body, isCut) {
  if (!isCut) return json(response, status, headers, body);
  const text = JSON.stringify(body);
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
    ...headers,
  });
  response.write(text.slice(0, text.length / 2), () => response.destroy());
}

const problem = (response, status, error, headers = {}) => json(response, status, headers, { error });

/** As the IETF draft has it, and samekey's own server half: to workbox, TanStack, ky and samekey. */
export const ietf = {
  orderOf: (body) => JSON.parse(body).order,
  unavailable: (response) => response.writeHead(503).end(),
  keyMissing: (response) => problem(response, 400, "idempotency_key_missing"),
  inProgress: (response) => problem(response, 409, "in_progress", { "retry-after": "1" }),
  mismatch: (response) => problem(response, 422, "idempotency_key_reused_with_different_body"),
  answer: (response, result, isReplay, isCut) =>
    answer(
      response,
      201,
      { "idempotency-status": isReplay ? "replayed" : "executed", ...(isReplay && { "idempotency-replayed": "true" }) },
      result,
      isCut,
    ),
};

const stripeError = (response, status, error) => json(response, status, { "request-id": "req_1" }, { error });

/** As Stripe documents it. */
export const stripe = {
  orderOf: (body) => new URLSearchParams(body.toString()).get("metadata[order]"),
  unavailable: (response) => stripeError(response, 503, { type: "api_error", message: "unavailable" }),
  keyMissing: (response) => stripeError(response, 400, { type: "invalid_request_error", message: "no key" }),
  inProgress: (response) =>
    stripeError(response, 409, { type: "idempotency_error", code: "idempotency_key_in_use", message: "in use" }),
  mismatch: (response) => stripeError(response, 400, { type: "idempotency_error", message: "other parameters" }),
  answer: (response, { order, number }, isReplay, isCut) =>
    answer(
      response,
      200,
      { "request-id": "req_1", ...(isReplay && { "idempotent-replayed": "true" }) },
      { id: `pi_${number}`, object: "payment_intent", status: "succeeded", metadata: { order } },
      isCut,
    ),
};
