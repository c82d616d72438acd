import { createSdk, post } from "samekey";
import { webCryptoSeal } from "samekey/seal";
import { memoryStore } from "samekey/stores/memory";
import { expect, test } from "vitest";
import { type Fault, faultsOfSeal } from "../../../../src/cli/operations/integrity.js";
import { story } from "../../../../src/cli/operations/story.js";
import { view } from "../../../../src/cli/operations/view.js";
import type { OperationRecord } from "../../../../src/core/record.js";

const store = memoryStore();

function program(id: string) {
  const seal = webCryptoSeal({ key: new Uint8Array(32).fill(id.length), id });
  const operations = { transfer: post<unknown>("https://api.example.com/transfers") };
  return createSdk({ name: "shop", owner: "single", retention: "24h", store, seal, operations });
}

test("what does not open is named by `verify --sdk`, and `show` prints no ciphertext", async () => {
  const sdk = program("old");
  const { id } = await sdk.operation("transfer", { iban: "DE89" }).save();
  const faults = async (of: ReturnType<typeof program>): Promise<Fault[]> => {
    const all: Fault[] = [];
    for await (const fault of faultsOfSeal(of)) all.push(fault);
    return all;
  };
  expect(await faults(sdk)).toEqual([]);
  expect(await faults(program("newer"))).toEqual([
    { id, what: 'its body is sealed under key "old", which `seal` does not have here' },
  ]);
  const standing = (await store.get(id)) as OperationRecord;
  expect(story(standing, Date.now(), true, "--name shop")).toContain('it is sealed under key "old"');
  expect(JSON.stringify(view(standing, true))).toContain('"sealed":{"key":"old"}');
  expect(JSON.stringify(view(standing, true))).not.toContain("base64");
  const open = (await sdk.get(id)) as OperationRecord;
  expect(story(open, Date.now(), true, "--name shop")).toContain("DE89");
});
