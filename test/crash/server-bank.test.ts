import { setTimeout as sleep } from "node:timers/promises";
import { createSdk, post, type Sdk } from "samekey";
import { memoryStore } from "samekey/stores/memory";
import { afterAll, beforeAll, expect, it } from "vitest";
import { honest } from "./server-ask.js";
import { type Bank, type BankServer, startBank } from "./server-fixture.js";
import { type Point, stillHeader, type Transfer } from "./server-told.js";

const keys = 20;
/** Beside the client's own: copies that a network or an impatient caller makes. */
const strays = 200;

let bank: Bank;
const group: BankServer[] = [];

/** Short, so that what stands still is given up while the test looks on. ms. */
const serve = () => bank.serve({ handlerTimeout: 300 });

beforeAll(async () => {
  bank = await startBank();
  group.push(await serve(), await serve());
});
afterAll(() => bank?.stop());

const upTo = (count: number): number => Math.floor(Math.random() * count);
const pick = <T>(list: readonly T[]): T => list[upTo(list.length)] as T;
const points: readonly Point[] = ["arrived", "claimed", "halfway", "worked", "committing", "committed", "replying"];
/** Some requests stand still somewhere, for a fault to meet them there. */
const somewhere = (): Point | undefined => (upTo(3) === 0 ? pick(points) : undefined);

const faults: readonly (() => Promise<unknown>)[] = [
  async () => {
    const place = upTo(group.length);
    await group[place]?.crash();
    group[place] = await serve();
  },
  async () => {
    const server = pick(group);
    server.pause();
    // Shorter or longer than its transactions may idle.
    await sleep(upTo(700));
    server.resume();
  },
  async () => bank.proxy.cut(),
  () => bank.terminate(),
  // Strikes whenever the next one commits.
  async () => void bank.proxy.atCommit("lost on the way there"),
  async () => void bank.proxy.atCommit("lost on the way back"),
  () => bank.restart("immediate"),
];

/** Each fault twice, in any order. */
async function wreak(): Promise<void> {
  const order = [...faults, ...faults].sort(() => Math.random() - 0.5);
  for (const fault of order) {
    await fault();
    for (const server of group) server.goOn();
    await sleep(upTo(200));
  }
}

function client(): Sdk<{ transfer: ReturnType<typeof post<Transfer, { execution: string }>> }> {
  return createSdk({
    name: "bank",
    baseUrl: "http://bank.test",
    owner: "single",
    retention: "24h",
    store: memoryStore(),
    retry: { base: "20ms", cap: "200ms" },
    attemptTimeout: "700ms",
    // Stands for the balancer in front.
    fetch: (input, init) => fetch(new URL(new URL(String(input)).pathname, pick(group).url), init),
    headers: ({ attempt }) => {
      const still = attempt < 3 ? somewhere() : undefined;
      return still === undefined ? {} : { [stillHeader]: still };
    },
    operations: { transfer: post<Transfer, { execution: string }>("/transfers") },
  });
}

it("twenty transfers, asked for two hundred times more while everything fails: each is done once", async () => {
  const sdk = client();
  const transfers = Array.from({ length: keys }, (_, index): Transfer => {
    const src = 1 + upTo(keys);
    return { src, dst: 1 + ((src + upTo(keys - 1)) % keys), amount: 1 + index };
  });
  const operations = transfers.map((transfer, index) => sdk.operation("transfer", transfer, { intent: `${index}` }));
  const records = await Promise.all(operations.map((operation) => operation.save()));

  const wreaking = wreak();
  const sent = Promise.all(operations.map((operation) => operation.send()));
  const bodies = new Map<number, Set<string>>();
  let left = strays;
  async function stray(): Promise<void> {
    while (left > 0) {
      left -= 1;
      const index = upTo(keys);
      const { key } = records[index] ?? {};
      const answer = await pick(group).ask(String(key), {
        transfer: transfers[index],
        still: somewhere(),
        timeout: 700,
      });
      honest(answer);
      if (answer.status === 201) bodies.set(index, (bodies.get(index) ?? new Set()).add(answer.body));
    }
  }
  await Promise.all([wreaking, ...Array.from({ length: 12 }, stray)]);
  // Whoever still gets to where it stands still is to go on, too.
  const calm = setInterval(() => {
    for (const server of group) server.goOn();
  }, 50);
  const results = await sent.finally(() => clearInterval(calm));

  for (const [index, { key, data }] of results.entries()) {
    const last = await bank.settle(pick(group), key, { transfer: transfers[index] });
    expect(last).toMatchObject({ status: 201, mark: "replayed" });
    expect(JSON.parse(last.body)).toEqual(data);
    expect([...(bodies.get(index) ?? [last.body])]).toEqual([last.body]);
    expect(await bank.effects(key)).toBe(1);
  }
  expect(await bank.query("SELECT count(*)::int AS entries, sum(amount)::int AS amount FROM ledger")).toEqual([
    { entries: keys, amount: (keys * (keys + 1)) / 2 },
  ]);
  await bank.expectSound();
  await sdk.close();
});
