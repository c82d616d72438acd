/** Answers that are longer than `maxResponse`, on Node's own fetch. */

import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { startTransfers } from "./transfers.js";

const MIB = 1024 * 1024;
const head = { "content-type": "application/json", "idempotency-status": "executed" };

test("a small packed answer that unpacks to 600 MB takes up no such memory, and its operation is settled at once", async () => {
  const packed = Buffer.concat(Array(600).fill(gzipSync(Buffer.alloc(MIB, " "))));
  const { server, sdk } = await startTransfers((_, response) => {
    response.writeHead(201, { ...head, "content-encoding": "gzip", "content-length": packed.length }).end(packed);
  });
  const before = process.resourceUsage().maxRSS;
  const error = (await sdk
    .operation("transfer", { amount: 1 })
    .send()
    .catch((thrown: unknown) => thrown)) as Error;
  expect(error).toMatchObject({ code: "unreadable", status: 201 });
  expect(error.message).toContain(`\`maxResponse\` allowed (${16 * MIB})`);
  expect((process.resourceUsage().maxRSS - before) / 1024).toBeLessThan(300);
  expect(server.requests).toHaveLength(1);
});

test("an answer that never ends is let go of: the server sees its connection closed", async () => {
  let closed = (): void => {};
  const isClosed = new Promise<void>((resolve) => {
    closed = resolve;
  });
  const { server, sdk } = await startTransfers((_, response) => {
    response.on("close", closed).writeHead(201, head);
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536, " ")));
    };
    response.on("drain", more);
    more();
  });
  await expect(sdk.operation("transfer", { amount: 1 }).send()).rejects.toMatchObject({ code: "unreadable" });
  await isClosed;
  expect(server.requests).toHaveLength(1);
});
