import { expect, test } from "vitest";
import { AnswerHeaders } from "../../../src/client/answer-headers.js";

test("headers are found and kept whatever case a library's fetch gives them in", () => {
  const given = new Map([
    ["Idempotency-Status", "executed"],
    ["Set-Cookie", "secret"],
  ]);
  const headers = new AnswerHeaders(given as unknown as Headers);
  expect([headers.get("idempotency-status"), headers.get("Idempotency-Status")]).toEqual(["executed", "executed"]);
  expect(headers.kept).toEqual({ "idempotency-status": "executed" });
});
