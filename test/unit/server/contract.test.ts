import pg from "pg";
import { describe, expect, it } from "vitest";
import { contractFetch, contractPath, corsHeaders, createIdempotency } from "../../../src/server/index.js";

const engine = (retention: string | number) => createIdempotency({ db: new pg.Pool(), retention: retention as "24h" });

describe("the published contract", () => {
  it("says where the key goes, what it looks like, how long it lives and what the answers mean", () => {
    expect(engine("24h").contract).toEqual({
      header: "Idempotency-Key",
      key: { minLength: 1, maxLength: 255, charset: "visible-ascii", quoted: "accepted", recommended: "uuidv7" },
      retention: 86_400,
      statuses: { missing: 400, invalid: 400, time: 400, in_progress: 409, expired: 410, reused: 422 },
      marks: { status: "idempotency-status", replayed: "idempotency-replayed" },
    });
  });

  it("never promises more than is kept", () => {
    expect(engine(1999).contract.retention).toBe(1);
  });

  it("is JSON that may be kept for some minutes", async () => {
    expect(contractPath).toBe("/.well-known/idempotency");
    const idempotency = engine("7d");
    const answer = contractFetch(idempotency)();
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe("application/json");
    expect(answer.headers.get("cache-control")).toBe("public, max-age=300");
    expect(await answer.json()).toEqual(idempotency.contract);
  });
});

it("the names for CORS plugins hold what the client sends and what it reads", () => {
  expect(corsHeaders.allowedHeaders).toEqual(["content-type", "idempotency-key", "samekey-owner"]);
  expect(corsHeaders.exposedHeaders).toEqual([
    "date",
    "idempotency-body",
    "idempotency-replayed",
    "idempotency-status",
    "retry-after",
  ]);
});
