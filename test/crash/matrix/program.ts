/** One life: finishes what the last one left, then places orders; ends at a point where it is told to. */

import { createSdk, MisuseError, type OperationHandle, type OperationRecord, post } from "samekey";
import { type FaultPoint, onFaultPoint } from "../../../src/core/fault-point.js";
import type { Clock, Store } from "../../../src/store.js";
import type { Errand, Order, Told } from "./errand.js";

/** Where the life is led. */
export interface Scene {
  readonly store: Store;
  readonly sleep: Clock["sleep"];
  /** Does not return before it is known outside. */
  tell(told: Told): void;
  /** The end. Does not return. */
  die(point: FaultPoint): void;
}

interface Body extends Pick<Order, "order" | "kind"> {
  readonly filling: string;
}

/** Lives once. */
export async function lead(errand: Errand, { store, sleep, tell, die }: Scene): Promise<void> {
  const { from, speed } = errand.clock;
  const hits: Partial<Record<FaultPoint, number>> = {};
  onFaultPoint((point) => {
    hits[point] = (hits[point] ?? 0) + 1;
    if (point === errand.end?.point && hits[point] === errand.end.hit) die(point);
  });

  /** Whoever is asked what became of an order looks at the server. */
  async function look(order: string): Promise<"applied" | "not-applied"> {
    const answer = await fetch(`${errand.url}/orders/${order}`);
    return answer.status === 200 ? "applied" : "not-applied";
  }

  const path = ({ order }: Body) => `/orders/${order}` as const;
  const settled = ({ intent = "", key, state }: OperationRecord): void =>
    tell({ what: "hook", order: intent, key, state });

  const sdk = createSdk({
    name: "crash",
    baseUrl: errand.url,
    owner: "single",
    retention: "24h",
    store,
    retry: { base: 5, cap: 20, backgroundCap: 20 },
    attemptTimeout: 30_000 * speed,
    ...(errand.prunes && { keepFor: 1 }),
    clock: {
      now: () => from + (Date.now() - from) * speed,
      sleep: (ms, signal, background) => sleep(ms / speed, signal, background),
    },
    operations: {
      order: post<Body, unknown>(path, { settled }),
      doubtful: post<Body, unknown>(path, { settled, retry: { attempts: 1 } }),
      asked: post<Body, unknown>(path, {
        settled,
        retry: { attempts: 1 },
        reconcile: ({ intent = "" }) => look(intent),
      }),
    },
  });

  function describe(order: Order): OperationHandle {
    const filling = order.kind === "large" ? "x".repeat(300_000) : "";
    const body = { order: order.order, kind: order.kind, filling };
    return sdk.operation(nameOf(order), body, { intent: order.order, lane: order.lane });
  }

  async function place(order: Order): Promise<void> {
    const handle = describe(order);
    if (order.saved || order.kind === "canceled") {
      tell({ what: "saved", order: order.order, key: (await handle.save()).key });
    }
    await conclude(order, handle);
  }

  async function finish(order: Order): Promise<void> {
    const found = await sdk.find({ name: nameOf(order), intent: order.order });
    // A refusal frees its intent: asking anew would be another order.
    await (found ? conclude(order, sdk.attach(found.id)) : place(order));
  }

  async function conclude(order: Order, handle: OperationHandle): Promise<void> {
    if (order.kind === "canceled") await handle.cancel().catch(unlessSent);
    await handle.outcome();
    const { id } = await handle.save();
    const record = await tellOutcome(order, id);
    if (record?.state !== "unresolved" || record.resolution) return;
    // Hooks that an earlier life owes are called by those who finish what it left, not by who asks for an outcome.
    if (order.kind === "asked") await sdk.resume();
    else if (order.kind === "discarded") await sdk.discard(id, { reason: "nobody knows" });
    else await sdk.reconcile(id, await look(order.order));
    await tellOutcome(order, id);
  }

  async function tellOutcome({ order }: Order, id: string): Promise<OperationRecord | undefined> {
    const record = await sdk.get(id);
    if (record) tell({ what: "outcome", order, key: record.key, state: record.state });
    return record;
  }

  tell({ what: "alive" });
  if (errand.recovery === "resume") await sdk.resume();
  if (errand.recovery === "start") sdk.start();
  await Promise.all(errand.left.map(finish));
  tell({ what: "recovered" });
  await Promise.all(errand.orders.map(place));
  await sdk.resume();
  if (errand.prunes) {
    // What is settled is too young to be dropped for a moment; what an earlier life has dropped is not there any more.
    for (let round = 0; round < 100 && !hits["prune:after"]; round++, await sleep(1)) await sdk.prune();
  }
  await Promise.all(errand.again.map(place));
  const counts = await sdk.counts();
  await sdk.close();
  tell({ what: "done", hits, counts });
}

function nameOf({ kind }: Order): "order" | "doubtful" | "asked" {
  if (kind === "asked") return "asked";
  return kind === "reconciled" || kind === "discarded" ? "doubtful" : "order";
}

function unlessSent(error: unknown): void {
  if (!(error instanceof MisuseError && error.code === "already_sent")) throw error;
}
