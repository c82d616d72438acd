import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { entries, importName, root } from "../../../scripts/entries.mjs";
import { createMockServer, type MockServer } from "../../../src/testing/index.js";

/** A site with pages and an API on one origin. What `api` is told to do wrong happens on real connections. */
export interface Site {
  readonly port: number;
  /** Of the machine itself, so a secure context. */
  readonly url: string;
  readonly api: MockServer;
  /** When each request to the API arrived, before anything was done about it, and by which connection. */
  readonly arrivals: Arrival[];
  /** Looks at every request to the API first; answers `true` when nothing more is to be done. */
  intercept: (request: IncomingMessage, response: ServerResponse) => boolean | undefined;
  /** Another one makes other scripts: service workers are updated. */
  release: number;
  reset(): void;
  close(): Promise<void>;
}

export interface Arrival {
  readonly method: string;
  readonly key: string | undefined;
  readonly headers: IncomingMessage["headers"];
  readonly at: number;
}

const pages = {
  "/app.js": "app.ts",
  "/react.js": "react.ts",
  "/inspector.js": "inspector.ts",
  "/worker.js": "worker.ts",
  "/sw.js": "service-worker.ts",
  "/sync-worker.js": "sync-worker.ts",
  "/fetch.js": "fetch.ts",
  "/fetch-worker.js": "fetch-worker.ts",
};
/** Under the strictest policy that a page can have which runs any script at all. */
const strict = { "content-type": "text/html", "content-security-policy": "default-src 'self'" };
const open = { "content-type": "text/html" };

export async function openSite(): Promise<Site> {
  const scripts = await bundlePages();
  const api = createMockServer({ baseUrl: "http://api.test" });
  const none = () => undefined;
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? "/", "http://site.test").pathname;
    const script = scripts.get(path);
    if (script !== undefined) {
      // A worker's policy is the one that its script comes with.
      const head = { ...(path === "/fetch-worker.js" ? open : strict), "content-type": "text/javascript" };
      return void response.writeHead(200, head).end(`${script}\n// release ${site.release}`);
    }
    const documents = { "/": strict, "/open": open, "/react": strict, "/inspector": strict, "/fetch": open };
    const page = request.method === "GET" ? documents[path as keyof typeof documents] : undefined;
    if (page) {
      const source = scripts.has(`${path}.js`) ? `${path}.js` : "/app.js";
      return void response.writeHead(200, page).end(`<!doctype html><script type="module" src="${source}"></script>`);
    }
    if (request.method === "GET" && path === "/favicon.ico") return void response.writeHead(204).end();
    const key = request.headers["idempotency-key"];
    site.arrivals.push({
      method: request.method ?? "",
      key: typeof key === "string" ? key : undefined,
      headers: request.headers,
      at: Date.now(),
    });
    if (site.intercept(request, response)) return;
    void answer(api, request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const site: Site = {
    port,
    url: `http://127.0.0.1:${port}`,
    api,
    arrivals: [],
    intercept: none,
    release: 1,
    reset() {
      api.reset();
      site.arrivals.length = 0;
      site.intercept = none;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return site;
}

/** Hands a request to the mock server and its answer back, as bytes; what breaks there breaks the connection. */
async function answer(api: MockServer, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const gone = new AbortController();
  response.on("close", () => gone.abort());
  try {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = chunks.length > 0 ? Buffer.concat(chunks) : null;
    const { method = "GET", headers, url } = request;
    const init = { method, body, headers: headers as Record<string, string>, redirect: "manual", signal: gone.signal };
    const answered = await api.fetch(`${api.baseUrl}${url}`, init as RequestInit);
    response.writeHead(answered.status, [...answered.headers].flat());
    const reader = answered.body?.getReader();
    for (let part = await reader?.read(); part?.value; part = await reader?.read()) {
      const { value } = part;
      await new Promise((written) => response.write(value, written));
    }
    response.end();
  } catch {
    request.socket.destroy();
  }
}

/** The pages' scripts, with `samekey` as browsers get it, but from the sources. */
async function bundlePages(): Promise<Map<string, string>> {
  const alias = entries.map(([subpath, sources]) => [
    importName(subpath),
    `${root}src/${sources["browser"] ?? sources.default}`,
  ]);
  const { outputFiles } = await build({
    entryPoints: Object.values(pages).map((file) => fileURLToPath(new URL(`pages/${file}`, import.meta.url))),
    outdir: "/",
    bundle: true,
    write: false,
    format: "esm",
    target: "es2022",
    conditions: ["browser"],
    logLevel: "error",
    alias: Object.fromEntries(alias),
  });
  return new Map(
    Object.entries(pages).map(([path, file]) => {
      const output = outputFiles.find((it) => it.path.endsWith(`/${file.replace(/\.ts$/, ".js")}`));
      return [path, output?.text ?? ""];
    }),
  );
}
