import { expect, onTestFinished, test } from "vitest";
import { newRecord } from "../../../src/testing/store-contract/records.js";
import { freshName, openStore } from "../../contract/indexeddb.tools.js";

interface Answer {
  claimed: string[];
  facts: { reset: boolean; localStorage: string };
}

function drainElsewhere(name: string, holder: string): Promise<Answer> {
  const worker = new Worker(new URL("./tab.worker.ts", import.meta.url), { type: "module" });
  onTestFinished(() => worker.terminate());
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }: MessageEvent<Answer>) => resolve(data);
    worker.onerror = (event) => reject(new Error(event.message));
    worker.postMessage({ name, holder });
  });
}

test("three realms claim 50 items: exactly 50 claims, none twice (F46)", async () => {
  const name = freshName();
  const store = await openStore(name);
  const saved = await Promise.all(Array.from({ length: 50 }, () => store.insert(newRecord())));
  const answers = await Promise.all(["one", "two", "three"].map((holder) => drainElsewhere(name, holder)));
  const claimed = answers.flatMap((answer) => answer.claimed);
  expect(claimed).toHaveLength(50);
  expect(new Set(claimed)).toEqual(new Set(saved.map(({ record }) => record.id)));
  for (const [i, { claimed }] of answers.entries()) {
    for (const id of claimed) expect((await store.get(id))?.lease?.holder).toBe(["one", "two", "three"][i]);
  }
  expect(await store.counts()).toEqual({ pending: 50 });
  expect(answers[0]?.facts, "a worker cannot remember, and works").toEqual({ reset: false, localStorage: "undefined" });
});
