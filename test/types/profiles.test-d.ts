import { createSdk, type Profile, post } from "samekey";
import { defineProfile, ietf, stripe } from "samekey/profiles";
import { expectTypeOf, test } from "vitest";

test("a profile that knows the retention spares the option", () => {
  const sdk = createSdk({
    name: "shop",
    owner: "single",
    profile: stripe,
    operations: { pay: post<{ amount: number }>("/x") },
  });
  expectTypeOf(sdk.operation("pay", { amount: 1 }).send).toBeFunction();
});

test("every profile is one, whoever made it", () => {
  expectTypeOf(ietf).toEqualTypeOf<Profile>();
  expectTypeOf(
    defineProfile({ name: "bank", answers: [{ status: 409, means: "in_progress" }] }),
  ).toEqualTypeOf<Profile>();
  // @ts-expect-error no such meaning
  defineProfile({ name: "bank", answers: [{ status: 409, means: "busy" }] });
});
