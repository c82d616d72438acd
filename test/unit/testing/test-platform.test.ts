import { createVirtualClock, seededRandom } from "samekey/testing";
import { expect, test } from "vitest";
import { TestDevice } from "../../../src/testing/test-platform.js";

const bytes = (text: string) => new TextEncoder().encode(text);

test("instances of one device hear each other, until they are gone", async () => {
  const device = new TestDevice();
  const platform = device.platform(createVirtualClock(), seededRandom(1));
  const heard: unknown[] = [];
  const message = { type: "changed", id: "1", rev: 1 } as const;
  const one = platform.openChannel("test", () => heard.push("one"));
  platform.openChannel("test", () => heard.push("two"));
  platform.onWake(() => heard.push("wake"));
  one?.post(message);
  device.setOffline(false);
  await Promise.resolve();
  expect(heard).toEqual(["wake", "two"]);
  device.clear();
  one?.post(message);
  device.setOffline(false);
  await Promise.resolve();
  expect(heard).toHaveLength(2);
});

test("a holder lives until it is released or the device is cleared", async () => {
  const device = new TestDevice();
  const random = seededRandom(1);
  const platform = device.platform(createVirtualClock(), random);
  const [a, b, c] = [1, 2, 3].map(() => platform.createHolder(random));
  a?.release();
  const dead = async () => {
    const isDead = await platform.createHolder(random).survey();
    return [a, b, c].map((holder) => isDead(holder?.id ?? ""));
  };
  expect(await dead()).toEqual([true, false, false]);
  device.clear();
  expect(await dead()).toEqual([true, true, true]);
});

test("its digest tells bodies apart", async () => {
  const { digest } = new TestDevice().platform(createVirtualClock(), seededRandom(1));
  const digests = await Promise.all(['{"a":1}', '{"a":2}', '{"a":1} ', "1"].map((text) => digest(bytes(text))));
  expect(new Set(digests).size).toBe(4);
  expect(await digest(bytes('{"a":1}'))).toBe(digests[0]);
});
