// What a plain JavaScript program does with the package: pays once over a bad network, and finishes after a restart.
import { strictEqual } from "node:assert";
import { once } from "node:events";
import { createServer } from "node:http";

export async function scenario({ createSdk, post, sqliteStore }) {
  const applied = new Map();
  let requests = 0;
  const server = createServer((request, response) => {
    requests += 1;
    const key = request.headers["idempotency-key"];
    const answer = applied.get(key) ?? JSON.stringify({ receipt: applied.size + 1 });
    applied.set(key, answer);
    // The first answer is lost after the effect.
    if (requests === 1) response.destroy();
    else response.writeHead(201, { "content-type": "application/json" }).end(answer);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  const path = `data/${process.version}-${process.pid}.sqlite`;
  const open = () =>
    createSdk({
      name: "consumer",
      baseUrl: `http://127.0.0.1:${server.address().port}`,
      owner: "single",
      retention: "24h",
      store: sqliteStore({ path }),
      operations: { pay: post("/payments") },
    });

  const first = open();
  const { data, status } = await first.operation("pay", { amount: 1 }, { intent: "a" }).send();
  strictEqual(status, 201);
  strictEqual(data.receipt, 1);
  strictEqual(applied.size, 1);
  await first.operation("pay", { amount: 2 }, { intent: "b" }).save();
  await first.close();

  const second = open();
  const report = await second.resume();
  strictEqual(report.succeeded, 1);
  strictEqual(applied.size, 2);
  await second.close();
  server.close();
  server.closeAllConnections();
}
