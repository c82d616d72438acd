import { createSdk } from "samekey";
import { expectTypeOf, test } from "vitest";

test("the entry has types", () => {
  expectTypeOf(createSdk).toBeFunction();
});
