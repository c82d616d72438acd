/** A bank with one kind of operation. Stands still at named points, for the test to do its worst there. */

import { AsyncLocalStorage } from "node:async_hooks";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import process from "node:process";
import { buffer } from "node:stream/consumers";
import pg from "pg";
import { createIdempotency, type Database, fingerprint } from "samekey/server";
import { type ServerOptions, type ServerTold, stillHeader } from "./server-told.js";
import { type Pass, works } from "./server-works.js";

const options = JSON.parse(process.argv[2] ?? "") as ServerOptions;
const tell = (message: ServerTold): void => void process.send?.(message);

/** The request that is being served, wherever the code has got to. */
const served = new AsyncLocalStorage<{ readonly key: string; still: string | undefined }>();
const standing = new Set<() => void>();
process.on("message", () => {
  for (const goOn of standing) goOn();
  standing.clear();
});

const toldToGoOn = () => new Promise<void>((goOn) => standing.add(goOn));

const pass: Pass = async (point, wait = toldToGoOn) => {
  const visit = served.getStore();
  if (visit?.still !== point) return;
  visit.still = undefined;
  const over = wait();
  tell({ what: "at", point, key: visit.key });
  await over;
};

const pool = new pg.Pool({ connectionString: options.databaseUrl, max: options.connections ?? 10 });
// Connections are cut here all the time; unheard, that would end the process.
pool.on("error", () => {});

/** The pool, with a stop before COMMIT. */
const db: Database<pg.PoolClient> = {
  async connect() {
    const client = await pool.connect();
    const query = async (text: string, values?: unknown[]) => {
      if (text !== "COMMIT") return client.query(text, values);
      await pass("committing");
      return options.protocol === "extended"
        ? client.query({ text, queryMode: "extended" } as pg.QueryConfig)
        : client.query(text);
    };
    const asked = { query, release: client.release.bind(client), on: client.on.bind(client) };
    return Object.assign(Object.create(client), asked);
  },
};

const engine = createIdempotency({ db, retention: "24h", handlerTimeout: options.handlerTimeout });
await engine.migrate();

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = "", url = "", headers } = request;
  const key = String(headers["idempotency-key"]);
  const work = works[url];
  if (work === undefined) throw new Error(`there is no ${url}`);
  const body = await buffer(request);
  await pass("arrived");
  const claim = {
    tenant: "acct_1",
    scope: url,
    key,
    fingerprint: fingerprint({ method, target: url, contentType: headers["content-type"], body }),
  };
  const outcome = await engine.run(claim, async (execution) => {
    tell({ what: "ran", key });
    execution.signal.addEventListener("abort", () => tell({ what: "aborted", key }));
    return work(execution, JSON.parse(body.toString()), pass);
  });
  await pass("committed");
  const answer = Buffer.from(outcome.body ?? []);
  response.writeHead(outcome.status, [...outcome.headers, ["content-length", String(answer.length)]].flat());
  const half = Math.ceil(answer.length / 2);
  await new Promise((done) => response.write(answer.subarray(0, half), done));
  await pass("replying");
  response.end(answer.subarray(half));
}

const server = createServer((request, response) => {
  const visit = { key: String(request.headers["idempotency-key"]), still: request.headers[stillHeader]?.toString() };
  served
    .run(visit, () => serve(request, response))
    .catch((error) => {
      // A caller that is gone has no use for an answer.
      if (response.headersSent || response.destroyed) return response.destroy();
      response.writeHead(500, { "content-type": "application/json" });
      return response.end(JSON.stringify({ error: "thrown", code: error.code, message: error.message }));
    });
});
server.listen(0, "127.0.0.1", () => {
  tell({ what: "listening", url: `http://127.0.0.1:${(server.address() as { port: number }).port}` });
});
// Its parent is its life: a test that dies leaves nobody behind.
process.on("disconnect", () => process.exit(0));
