import { createElement as h, startTransition, useEffect, useLayoutEffect, useState } from "react";
import { hydrateRoot } from "react-dom/client";
import { renderToString } from "react-dom/server";
import type { Outcome } from "samekey";
import { type OperationState, useOperation, usePendingOperations } from "samekey/react";
import { delay, lose, status } from "samekey/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { freshName } from "../../contract/indexeddb.tools.js";
import { openSdk, type Receipt } from "../client/tools.js";
import { mount } from "./tools.js";

const eventually = <T>(look: () => T) => expect.poll(look, { timeout: 10_000, interval: 10 });

const show = ({ state, data, error }: Pick<OperationState<[], Receipt, unknown>, "state" | "data" | "error">) =>
  `${state} ${data?.id ?? "-"} ${error?.code ?? "-"}`;

function noRejections(): unknown[] {
  const told: unknown[] = [];
  const listener = (event: PromiseRejectionEvent): void => void told.push(event.reason);
  addEventListener("unhandledrejection", listener);
  onTestFinished(() => removeEventListener("unhandledrejection", listener));
  return told;
}

describe("under StrictMode: mounted, unmounted and mounted in one task", () => {
  test.each([
    ["in an effect, with an intent", useEffect, "order-1"],
    ["in an effect, without", useEffect, undefined],
    ["in a layout effect, with an intent", useLayoutEffect, "order-1"],
    ["in a layout effect, without", useLayoutEffect, undefined],
  ] as const)("what is sent %s is one operation and one request", async (_, effect, intent) => {
    const { sdk, server } = openSdk();
    const outcomes: Promise<Outcome<Receipt>>[] = [];
    const page = mount(() => {
      const payment = useOperation(sdk, "transfer", { intent });
      const { send } = payment;
      effect(() => {
        outcomes.push(send({ amount: 5 }));
      }, [send]);
      return show(payment);
    });
    await eventually(page.text).toBe("succeeded 1 -");
    expect(outcomes).toHaveLength(2);
    expect((await Promise.all(outcomes)).map(({ state }) => state)).toEqual(["succeeded", "succeeded"]);
    expect(server.calls).toHaveLength(1);
    await eventually(() => sdk.counts()).toEqual({ succeeded: 1 });
  });

  test("two bodies that are sent are two operations, and so are two equal ones", async () => {
    const { sdk, server } = openSdk();
    const outcomes: Promise<Outcome<Receipt>>[] = [];
    mount(() => {
      const { send } = useOperation(sdk, "transfer");
      useEffect(() => {
        for (const amount of [1, 1, 2]) outcomes.push(send({ amount }));
      }, [send]);
      return null;
    });
    await eventually(() => server.effects.length).toBe(3);
    await eventually(() => sdk.counts()).toEqual({ succeeded: 3 });
    const [a, b, c, ...again] = await Promise.all(outcomes);
    expect(again).toEqual([a, b, c]);
    expect(a).not.toEqual(b);
    expect(server.calls).toHaveLength(3);
  });
});

test("`state` is pending from the call on, with the input; then the result; the state is frozen, `send` stays the same", async () => {
  const { sdk } = openSdk();
  const seen: OperationState<never, Receipt, unknown>[] = [];
  const page = mount(
    () => {
      const payment = useOperation(sdk, "transfer");
      if (seen.at(-1) !== payment) seen.push(payment);
      return h("button", { type: "button", onClick: () => void payment.send({ amount: 5 }) }, payment.state);
    },
    { strict: false },
  );
  await eventually(page.text).toBe("idle");
  page.element.querySelector("button")?.click();
  await eventually(page.text).toBe("succeeded");
  expect(seen.map(({ state, input, data }) => ({ state, input, data }))).toEqual(
    expect.arrayContaining([
      { state: "idle", input: undefined, data: undefined },
      { state: "pending", input: { amount: 5 }, data: undefined },
      { state: "succeeded", input: { amount: 5 }, data: { id: "1" } },
    ]),
  );
  expect(seen[1]).toMatchObject({ state: "pending", attempts: 0, name: "transfer" });
  expect(seen.filter(({ state, data }) => state === "succeeded" && !data)).toEqual([]);
  expect(seen.every((state) => Object.isFrozen(state) && state.send === seen[0]?.send)).toBe(true);
});

test("what went wrong is told in the state, typed, and never as an unhandled rejection; a new send begins anew", async () => {
  const rejections = noRejections();
  const { sdk, server } = openSdk();
  server.script(status(402));
  let send: (amount: number) => Promise<Outcome<Receipt>> = () => Promise.reject(new Error("not mounted"));
  const page = mount(() => {
    const payment = useOperation(sdk, "transfer", { intent: "order-1" });
    send = (amount) => payment.send({ amount });
    return show(payment);
  });
  await eventually(page.text).toBe("idle - -");
  void send(5);
  await eventually(page.text).toBe("rejected - rejected");
  void send(5);
  await eventually(page.text).toBe("succeeded 1 -");
  expect(await send(6)).toMatchObject({ state: "unsaved", error: { code: "intent_mismatch" } });
  await eventually(page.text).toBe("idle - intent_mismatch");
  expect(await send(Number.NaN)).toMatchObject({ state: "unsaved", error: { name: "MisuseError" } });
  expect(server.effects).toHaveLength(1);
  expect(rejections).toEqual([]);
});

test("a lost answer, an outage and a next attempt are shown while it is pending", async () => {
  const { sdk, server } = openSdk({ retry: { base: "1h", cap: "1h" } });
  server.script(lose.response());
  const page = mount(() => {
    const payment = useOperation(sdk, "transfer");
    const { state, attempts, mayHaveBeenApplied, nextAttemptAt = 0 } = payment;
    const text = `${state} ${attempts} ${mayHaveBeenApplied} ${nextAttemptAt > Date.now()}`;
    return h("button", { type: "button", onClick: () => void payment.send({ amount: 5 }) }, text);
  });
  await eventually(page.text).toContain("idle");
  page.element.querySelector("button")?.click();
  await eventually(page.text).toBe("pending 1 true true");
});

describe("by its intent", () => {
  test("what was recorded before is shown, and sending joins it", async () => {
    const { sdk, server } = openSdk();
    const { id } = await sdk.operation("transfer", { amount: 5 }, { intent: "order-1" }).send();
    const shown: (string | undefined)[] = [];
    const page = mount(() => {
      const payment = useOperation(sdk, "transfer", { intent: "order-1" });
      shown.push(payment.id);
      return h("button", { type: "button", onClick: () => void payment.send({ amount: 5 }) }, show(payment));
    });
    await eventually(page.text).toBe("succeeded 1 -");
    page.element.querySelector("button")?.click();
    await eventually(page.text).toBe("succeeded 1 -");
    expect(shown.at(-1)).toBe(id);
    expect(server.calls).toHaveLength(1);
  });

  test("what another component or another tab begins is shown here", async () => {
    const name = freshName();
    const { sdk, server } = openSdk({ name });
    const { sdk: other } = openSdk({ name }, server);
    server.script(delay(300));
    const watcher = mount(() => show(useOperation(sdk, "transfer", { intent: "order-1" })));
    const elsewhere = mount(() => show(useOperation(other, "transfer", { intent: "order-1" })));
    await eventually(watcher.text).toBe("idle - -");
    const sender = mount(() => {
      const payment = useOperation(sdk, "transfer", { intent: "order-1" });
      return h("button", { type: "button", onClick: () => void payment.send({ amount: 5 }) }, show(payment));
    });
    await eventually(sender.text).toBe("idle - -");
    sender.element.querySelector("button")?.click();
    await eventually(watcher.text).toBe("pending - -");
    await eventually(elsewhere.text).toBe("pending - -");
    for (const page of [sender, watcher, elsewhere]) await eventually(page.text).toBe("succeeded 1 -");
    expect(server.calls).toHaveLength(1);
  });

  test("is another one's for whoever signs in next: not shown to him", async () => {
    const session = { user: "ada" };
    const { sdk } = openSdk({ owner: () => session.user });
    await sdk.operation("transfer", { amount: 5 }, { intent: "order-1" }).send();
    const page = mount(() => show(useOperation(sdk, "transfer", { intent: "order-1" })));
    await eventually(page.text).toBe("succeeded 1 -");
    session.user = "bob";
    await sdk.counts();
    await eventually(page.text).toBe("idle - -");
    session.user = "ada";
    await sdk.counts();
    await eventually(page.text).toBe("succeeded 1 -");
  });

  test("a transition to another intent shows the other, and one that is abandoned does nothing", async () => {
    const { sdk, server } = openSdk();
    await sdk.operation("transfer", { amount: 1 }, { intent: "order-1" }).send();
    await sdk.operation("transfer", { amount: 2 }, { intent: "order-2" }).send();
    let go: (intent: string) => void = () => {};
    const forever = new Promise<never>(() => {});
    const renders: string[] = [];
    const order = ({ intent }: { readonly intent: string }) => {
      const payment = useOperation(sdk, "transfer", { intent });
      renders.push(intent);
      if (intent === "never") throw forever;
      return `${intent} ${show(payment)}`;
    };
    const page = mount(() => {
      const [intent, setIntent] = useState("order-1");
      go = (next) => startTransition(() => setIntent(next));
      return h(order, { intent });
    });
    await eventually(page.text).toBe("order-1 succeeded 1 -");
    go("never");
    await eventually(() => renders).toContain("never");
    expect(page.text()).toBe("order-1 succeeded 1 -");
    go("order-2");
    await eventually(page.text).toBe("order-2 succeeded 2 -");
    expect(server.calls).toHaveLength(2);
  });
});

test("unmounted while it is sent: the waiting ends, the operation goes on (I10)", async () => {
  const rejections = noRejections();
  const { sdk, server } = openSdk();
  server.script(delay(300), lose.response());
  let outcome: Promise<Outcome<Receipt>> | undefined;
  const page = mount(() => {
    const payment = useOperation(sdk, "transfer", { intent: "order-1" });
    const pay = () => {
      outcome = payment.send({ amount: 5 });
    };
    return h("button", { type: "button", onClick: pay }, payment.state);
  });
  await eventually(page.text).toBe("idle");
  page.element.querySelector("button")?.click();
  await eventually(() => server.calls.length).toBe(1);
  page.root.unmount();
  expect(await outcome).toMatchObject({
    state: "pending",
    error: { name: "PendingError", cause: { name: "AbortError" } },
  });
  expect(await sdk.counts()).toEqual({ pending: 1 });
  await eventually(() => sdk.counts()).toEqual({ succeeded: 1 });
  expect(server.effects).toHaveLength(1);
  expect(rejections).toEqual([]);
});

test("a page that was rendered on a server is hydrated as it is, and shows what is recorded then", async () => {
  const { sdk } = openSdk();
  await sdk.operation("transfer", { amount: 5 }, { intent: "order-1" }).send();
  const page = () => h("p", null, show(useOperation(sdk, "transfer", { intent: "order-1" })));
  const element = document.createElement("div");
  element.innerHTML = renderToString(h(page));
  expect(element.textContent).toBe("idle - -");
  const problems: unknown[] = [];
  const root = hydrateRoot(element, h(page), { onRecoverableError: (error) => problems.push(error) });
  onTestFinished(() => root.unmount());
  await eventually(() => element.textContent).toBe("succeeded 1 -");
  expect(problems).toEqual([]);
});

test("usePendingOperations lists what is under way, and no more than that", async () => {
  const { sdk, server } = openSdk();
  server.script(delay("1h"));
  const page = mount(() =>
    usePendingOperations(sdk)
      .map(({ name, intent, state }) => `${name} ${intent} ${state}`)
      .join(", "),
  );
  await sdk.operation("transfer", { amount: 1 }, { intent: "a" }).save();
  const { id } = await sdk.operation("transfer", { amount: 2 }, { intent: "b" }).save();
  await eventually(page.text).toBe("transfer a pending, transfer b pending");
  await sdk.cancel(id);
  await eventually(page.text).toBe("transfer a pending");
});
