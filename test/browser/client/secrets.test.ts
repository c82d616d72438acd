import { cut, status, unauthorized } from "samekey/testing";
import { expect, test } from "vitest";
import { freshName } from "../../contract/indexeddb.tools.js";
import { dump, openSdk, textOf } from "./tools.js";

const SENTINEL = "sentinel-7f3a";

test("no credential is at rest, whatever was sent, answered or thrown (F55 F56)", async () => {
  const name = freshName();
  let asked = 0;
  const { sdk, server } = openSdk({
    name,
    headers: () => {
      asked++;
      if (asked === 2) throw Object.assign(new Error(`cannot refresh ${SENTINEL}-refresh`), { token: `${SENTINEL}-a` });
      return {
        authorization: `Bearer ${SENTINEL}-bearer-${asked}`,
        "x-csrf-token": `${SENTINEL}-csrf`,
        cookie: `${SENTINEL}-cookie`,
      };
    },
  });
  server.on("POST", "/transfers", () =>
    Response.json(
      { id: "1" },
      { headers: { "x-auth-token": `${SENTINEL}-answered`, "set-cookie": `s=${SENTINEL}`, authorization: SENTINEL } },
    ),
  );
  const challenge = { "www-authenticate": SENTINEL, "x-new-token": SENTINEL, "proxy-authenticate": SENTINEL };
  server.script(status(503, { headers: challenge }), cut.body(), unauthorized());
  const call = { headers: { "x-otp": `${SENTINEL}-otp`, authorization: `Basic ${SENTINEL}` } };
  const handle = sdk.operation("transfer", { amount: 5 }, { intent: "order-1", ...call });
  await expect(handle.send()).rejects.toMatchObject({ code: "blocked" });
  const blocked = textOf(await dump(name));
  const again = await sdk.operation("transfer", { amount: 5 }, { intent: "order-1", ...call }).send();
  expect(again.source).toBe("replayed");

  const fresh = await sdk.operation("transfer", { amount: 6 }, call).send();
  expect(fresh.source, "with the headers that go out with the first answer only").toBe("executed");

  const sent = server.calls.map(({ headers }) => [headers.get("authorization"), headers.get("x-otp")]);
  expect(
    sent.flat().every((value) => value?.includes(SENTINEL)),
    "they were sent",
  ).toBe(true);
  expect(server.calls.length).toBeGreaterThan(3);
  const settled = textOf(await dump(name));
  for (const text of [blocked, settled]) {
    expect(text, "the dump shows what is there").toContain("order-1");
    expect(text).not.toContain(SENTINEL);
  }
  expect(settled, "the names of what was dropped").toContain("x-otp");
  expect(JSON.stringify(localStorage)).not.toContain(SENTINEL);
  expect(JSON.stringify(sessionStorage)).not.toContain(SENTINEL);
});
