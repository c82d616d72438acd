import { describe, expect, it } from "vitest";
import { post } from "../../../src/index.js";
import { memoryStore } from "../../../src/stores/memory.js";
import { createBrowser } from "./kit.js";

const operations = { transfer: post<{ amount: number }, { id: string }>("/transfers") };

describe("one store that several sdks are given", () => {
  it("is refused to those of another name, whose operations whoever opened it first would keep", () => {
    const { open } = createBrowser();
    const store = memoryStore();
    open({ name: "checkout", operations, store });
    expect(() => open({ name: "refunds", operations, store })).toThrow(
      expect.objectContaining({
        name: "MisuseError",
        code: "bad_option",
        message: expect.stringContaining("checkout"),
      }),
    );
  });

  it("stays open until the last of them is closed", async () => {
    const { open, clock } = createBrowser();
    const store = memoryStore();
    const [one, two] = [open({ operations, store }), open({ operations, store })] as const;
    await clock.until(one.operation("transfer", { amount: 1 }).send());
    await clock.until(two.operation("transfer", { amount: 2 }).send());
    await clock.until(one.close());
    await clock.until(two.operation("transfer", { amount: 3 }).send());
    expect(await two.counts()).toEqual({ succeeded: 3 });
    await clock.until(two.close());
    await expect(store.counts()).rejects.toMatchObject({ code: "unavailable" });
  });
});
