import { describe, expect, test } from "vitest";
import { type DeclaredHeaders, splitHeaders, withoutConnection } from "../../../src/client/request-headers.js";

const none: DeclaredHeaders = { keepHeaders: [], ignoreHeaders: [] };
const split = (given: Record<string, string>, declared = none) =>
  splitHeaders(new Headers(given), declared, "application/json");

describe("the headers of a call", () => {
  test.each([
    "accept-language",
    "accept-profile",
    "cache-control",
    "content-encoding",
    "content-profile",
    "if-match",
    "if-none-match",
    "prefer",
  ])("%s says what is asked for: kept", (name) => {
    expect(split({ [name]: "a" })).toEqual({
      kept: { accept: "application/json", [name]: "a" },
      dropped: [],
      transient: undefined,
    });
  });

  test.each([
    "user-agent",
    "x-stainless-retry-count",
    "x-stainless-lang",
    "x-client-info",
    "traceparent",
    "x-b3-traceid",
    "amz-sdk-invocation-id",
  ])("%s carries no meaning: sent along, neither kept nor asked for again", (name) => {
    const { kept, dropped, transient } = split({ [name]: "a" });
    expect([kept, dropped, transient?.get(name)]).toEqual([{ accept: "application/json" }, [], "a"]);
  });

  test.each([
    "authorization",
    "apikey",
    "x-api-key",
    "cookie",
    "x-tenant",
    "x-user-agent",
    "preference",
    "x-request-id",
  ])("%s is needed by every attempt: sent along, and asked for again", (name) => {
    const { kept, dropped, transient } = split({ [name]: "a" });
    expect([kept, dropped, transient?.get(name)]).toEqual([{ accept: "application/json" }, [name], "a"]);
  });

  test("an operation says which of its own are kept and which carry no meaning; `*` stands for any ending", () => {
    const declared = { keepHeaders: ["x-tenant"], ignoreHeaders: ["x-shop-*", "prefer"] };
    const given = { "x-tenant": "7", "x-shop-client": "1", "x-shop": "2", prefer: "a", accept: "text/plain" };
    const { kept, dropped, transient } = split(given, declared);
    expect(kept).toEqual({ accept: "text/plain", "x-tenant": "7" });
    expect(dropped).toEqual(["x-shop"]);
    expect(Object.fromEntries(transient ?? [])).toEqual({ "x-shop-client": "1", "x-shop": "2", prefer: "a" });
  });

  test("what a library says of the connection is left to the platform", () => {
    const headers = new Headers({ "content-length": "3", connection: "keep-alive", "keep-alive": "1", "x-a": "1" });
    expect(Object.fromEntries(withoutConnection(headers))).toEqual({ "x-a": "1" });
  });
});
