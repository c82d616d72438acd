import { describe, expect, it } from "vitest";
import { derive } from "../../../src/server/index.js";
import { parseKey, sortableKey } from "../../../src/server/key.js";

const source = { tenant: "acct_1", scope: "transfers", key: "018f2c5e-7b1a-7000-8000-000000000000" };

describe("a derived key", () => {
  it("is the same for ever", () => {
    expect(derive(source, "charge")).toBe("e30af0cf-99c3-8b25-a6d2-19224a1aaf1a");
  });

  it("is a UUID of version 8, and a key that stands in a header and is no v7", () => {
    const key = derive(source, "charge");
    expect(key).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(parseKey(key)).toEqual({ key });
    expect(sortableKey(key)).toBe(`o${key}`);
  });

  it("is another one for any other tenant, scope, key or step, however their characters are divided", () => {
    const sources = [
      source,
      { ...source, tenant: "acct_" },
      { ...source, scope: "1transfers" },
      { ...source, key: "k" },
    ];
    const keys = sources.flatMap((one) => ["charge", "charge2", ""].map((step) => derive(one, step)));
    expect(new Set(keys).size).toBe(keys.length);
    expect(derive({ tenant: "a", scope: "bc", key: "k" }, "s")).not.toBe(
      derive({ tenant: "ab", scope: "c", key: "k" }, "s"),
    );
  });
});
