import { inspect } from "node:util";
import { post, RejectedError } from "samekey";
import { createTestSdk } from "samekey/testing";
import { expect, test } from "vitest";
import { fate } from "./client/kit.js";

const secret = "iban-DE02120300000000202051";

test("I8 an error that is printed, or written as JSON, shows neither the request's body nor the answer", async () => {
  const app = createTestSdk({ operations: { transfer: post<{ to: string }>("/transfers") } });
  app.server.on("POST", "/transfers", () => Response.json({ refused: secret }, { status: 403 }));
  const error = await app.until(fate(app.sdk.operation("transfer", { to: secret }).send()));
  const bytes = [...new TextEncoder().encode("iban-DE")].map((byte) => byte.toString(16)).join(" ");
  for (const printed of [inspect(error, { depth: 10 }), String(error), JSON.stringify(error)]) {
    expect(printed).not.toContain("iban-DE");
    expect(printed).not.toContain(bytes);
  }
  expect(error).toBeInstanceOf(RejectedError);
  expect(error).toMatchObject({ data: { refused: secret }, record: { name: "transfer" } });
  expect(inspect(error)).toContain("rejected");
});
