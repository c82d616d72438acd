import type { SdkOptions } from "samekey";
import { delay } from "samekey/testing";
import { expect, test } from "vitest";
import { freshName, replace } from "../../contract/indexeddb.tools.js";
import { openSdk } from "./tools.js";

test("a tab that comes while another asks who lives is not taken for dead (F46)", async () => {
  const name = freshName();
  const { sdk: first, server } = openSdk({ name });
  const { sdk: latecomer } = openSdk({ name }, server);
  const { sdk: asking } = openSdk({ name }, server);
  server.script(delay(500, { times: 10 }));
  const sendings = [first.operation("transfer", { amount: 1 }).send()];
  await expect.poll(() => server.calls.length).toBe(1);

  const restore = replace(LockManager.prototype, "query", (query) => {
    return async function (this: LockManager) {
      const answer = await query.call(this);
      restore();
      sendings.push(latecomer.operation("transfer", { amount: 2 }).send());
      await expect.poll(() => server.calls.length).toBe(2);
      return answer;
    };
  });
  const report = await asking.resume({ wait: "2s" });
  expect(report, "both are under way elsewhere").toMatchObject({ succeeded: 0, remaining: 2 });
  expect((await Promise.all(sendings)).map(({ source }) => source)).toEqual(["executed", "executed"]);
  expect(server.calls).toHaveLength(2);
});

test("where Web Locks are there but refused, leases alone decide", async () => {
  const refuse = () => async () => {
    throw new DOMException("denied", "SecurityError");
  };
  replace(LockManager.prototype, "request", refuse as never);
  replace(LockManager.prototype, "query", refuse as never);
  const errors: string[] = [];
  const log: SdkOptions["log"] = ({ level, message }) => level === "error" && errors.push(message);
  const name = freshName();
  const { sdk: one, server } = openSdk({ name, log });
  const { sdk: two } = openSdk({ name, log }, server);
  server.script(delay(200));
  const sendings = [one, two].map((sdk) => sdk.operation("transfer", { amount: 1 }, { intent: "order-1" }).send());
  const [first, second] = await Promise.all(sendings);
  expect(second).toMatchObject({ key: first?.key, data: first?.data });
  expect(server.calls).toHaveLength(1);
  expect(await two.resume({ wait: 100 })).toMatchObject({ remaining: 0 });
  expect(errors).toEqual([]);
});
