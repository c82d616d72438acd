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
