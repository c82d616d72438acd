import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import { Readable } from "node:stream";
import { serve as serveHono } from "@hono/node-server";
import express, { type Request as ExpressRequest } from "express";
import Fastify, { type FastifyRequest } from "fastify";
import { Hono } from "hono";
import type { PoolClient } from "pg";
import { expressContract, expressIdempotency } from "../../../src/server/adapters/express.js";
import { fastifyContract, fastifyIdempotency } from "../../../src/server/adapters/fastify.js";
import {
  contractFetch,
  contractPath,
  createIdempotency,
  type Database,
  type Execution,
  idempotentFetch,
  type RouteOptions,
} from "../../../src/server/index.js";

/** What a route answers, whatever framework says it. */
export interface Reply {
  readonly status?: number;
  readonly headers?: readonly (readonly [name: string, value: string])[];
  readonly body?: Uint8Array | string | null;
}

/** What a route does, whatever framework it runs in. */
export type Act = (execution: Execution<PoolClient>, body: Buffer) => Promise<Reply> | Reply;

export interface HostOptions {
  readonly db: Database<PoolClient>;
  readonly act: Act;
  /** What `GET /act` answers. @defaultValue "untouched" */
  readonly read?: () => Promise<string>;
  readonly handlerTimeout: number;
  readonly bodyLimit: number;
  /** @defaultValue the account in `Authorization` */
  readonly tenant?: (authorization: string | null | undefined) => unknown;
  /** Where the framework's own log goes, in all its detail. */
  readonly log?: (line: string) => void;
}

/** Turns every byte over, which is enough to tell. */
const turned = (bytes: Uint8Array): Uint8Array => bytes.map((byte) => byte ^ 0xff);

/** The idempotent routes, by path and scope. */
const routes: Readonly<Record<string, Omit<RouteOptions<PoolClient>, "bodyLimit">>> = {
  "/act": {},
  "/other": {},
  "/sealed": { seal: { seal: turned, open: turned } },
  "/optional": { required: false },
};

/** A server with the routes above, for POST, PUT and PATCH, and `GET /act` beside them. */
export interface Host {
  readonly name: string;
  start(options: HostOptions): Promise<{ readonly url: string; close(): Promise<unknown> }>;
}

const untouched = async (): Promise<string> => "untouched";

/** The account that stands in the request; a real server looks a token up. */
const accountIn = (header: string | null | undefined): string | undefined =>
  /^Bearer (acct_\w+)$/.exec(String(header))?.[1];

const engine = <R>(
  { db, handlerTimeout, tenant = accountIn }: HostOptions,
  authorizationOf: (request: R) => string | null | undefined,
) =>
  createIdempotency({
    db,
    retention: "24h",
    handlerTimeout,
    headers: ["x-kept"],
    // Not always what the types ask for: that is to be found out.
    tenant: (request: R) => tenant(authorizationOf(request)) as string | undefined,
  });

const fastify: Host = {
  name: "Fastify",
  async start(options) {
    const idempotency = engine(options, ({ headers }: FastifyRequest) => headers.authorization);
    const hooks = fastifyIdempotency(idempotency);
    const { log } = options;
    const app = Fastify({
      bodyLimit: options.bodyLimit,
      logger: log === undefined ? false : { level: "trace", stream: { write: log } },
    });
    app.removeAllContentTypeParsers();
    app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
    for (const [url, route] of Object.entries(routes)) {
      app.route({
        url,
        method: ["POST", "PUT", "PATCH"],
        ...hooks.route(url, route),
        handler: async (request, reply) => {
          const {
            status = 200,
            headers = [],
            body,
          } = await options.act(hooks.execution(request), (request.body as Buffer | undefined) ?? Buffer.alloc(0));
          reply.code(status);
          for (const name of new Set(headers.map(([name]) => name))) {
            reply.header(
              name,
              headers.filter(([other]) => other === name).map(([, value]) => value),
            );
          }
          return reply.send(typeof body === "string" ? Buffer.from(body) : (body ?? undefined));
        },
      });
    }
    app.get("/act", options.read ?? untouched);
    app.get(contractPath, fastifyContract(idempotency));
    const url = await app.listen({ port: 0, host: "127.0.0.1" });
    return { url, close: () => app.close() };
  },
};

const expressHost: Host = {
  name: "Express",
  async start(options) {
    const idempotency = engine(options, ({ headers }: ExpressRequest) => headers.authorization);
    const hooks = expressIdempotency(idempotency);
    const app = express();
    // Otherwise Express writes what it catches to the console.
    if (options.log === undefined) app.set("env", "test");
    else app.set("env", "production");
    for (const [url, route] of Object.entries(routes)) {
      const middleware = [
        hooks.route(url, { ...route, bodyLimit: options.bodyLimit }),
        express.raw({ type: () => true, limit: options.bodyLimit }),
        async (request: ExpressRequest, response: express.Response) => {
          const {
            status = 200,
            headers = [],
            body,
          } = await options.act(hooks.execution(request), request.body ?? Buffer.alloc(0));
          response.status(status);
          for (const [name, value] of headers) response.append(name, value);
          response.end(body ?? undefined);
        },
      ];
      app.post(url, middleware);
      app.put(url, middleware);
      app.patch(url, middleware);
    }
    app.get("/act", async (_request, response) => {
      response.send(await (options.read ?? untouched)());
    });
    app.get(contractPath, expressContract(idempotency));
    return listening(createServer(app));
  },
};

const web = (options: HostOptions) => {
  const idempotency = engine(options, ({ headers }: Request) => headers.get("authorization"));
  const handlerOf = (scope: string, route: RouteOptions<PoolClient>) =>
    idempotentFetch(idempotency, { ...route, scope, bodyLimit: options.bodyLimit }, async (request, execution) => {
      const {
        status = 200,
        headers = [],
        body,
      } = await options.act(execution, Buffer.from(await request.arrayBuffer()));
      const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
      const empty = bytes === undefined || bytes === null || bytes.length === 0;
      return new Response(empty ? null : (bytes as Uint8Array<ArrayBuffer>), {
        status,
        headers: headers.map(([name, value]): [string, string] => [name, value]),
      });
    });
  const handlers = Object.entries(routes).map(([path, route]) => [path, handlerOf(path, route)] as const);
  return { handlers, contract: contractFetch(idempotency) };
};

const hono: Host = {
  name: "the Web wrapper under Hono",
  async start(options) {
    const { handlers, contract } = web(options);
    const app = new Hono();
    app.onError((_error, context) => context.text("failed", 500));
    for (const [path, handler] of handlers)
      app.on(["POST", "PUT", "PATCH"], path, (context) => handler(context.req.raw));
    app.get("/act", async (context) => context.text(await (options.read ?? untouched)()));
    app.get(contractPath, contract);
    const server = serveHono({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }) as Server;
    return listening(server);
  },
};

const bare: Host = {
  name: "the Web wrapper on bare Node",
  async start(options) {
    const { handlers, contract } = web(options);
    const found = new Map<string, (request: Request) => Promise<Response> | Response>([
      ["GET /act", async () => new Response(await (options.read ?? untouched)())],
      [`GET ${contractPath}`, contract],
    ]);
    for (const [path, handler] of handlers) {
      for (const method of ["POST", "PUT", "PATCH"]) found.set(`${method} ${path}`, handler);
    }
    const listener: RequestListener = async (incoming, outgoing) => {
      const url = new URL(incoming.url ?? "", "http://localhost");
      const handler = found.get(`${incoming.method} ${url.pathname}`);
      const failed = () => new Response("failed", { status: 500 });
      const response = await Promise.resolve(handler?.(requestOf(incoming, url)) ?? failed()).catch(failed);
      const headers = [...response.headers].flat();
      outgoing.writeHead(response.status, headers).end(Buffer.from(await response.arrayBuffer()));
    };
    return listening(createServer(listener));
  },
};

export const hosts: readonly Host[] = [fastify, expressHost, hono, bare];

function requestOf(incoming: IncomingMessage, url: URL): Request {
  const headers = new Headers();
  for (const [name, values] of Object.entries(incoming.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  const method = incoming.method ?? "GET";
  const body = method === "GET" ? null : (Readable.toWeb(incoming) as ReadableStream<Uint8Array>);
  return new Request(url, { method, headers, body, duplex: "half" } as RequestInit);
}

async function listening(server: Server): Promise<{ url: string; close(): Promise<unknown> }> {
  if (!server.listening) {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
  }
  const { port } = server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}
