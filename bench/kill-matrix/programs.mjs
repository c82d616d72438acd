import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundle } from "../support/bundle.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));

/**
 * Makes a program, or a page, of every contestant.
 *
 * @param dist - samekey, as it is published
 * @returns `programs`: files for Node, by id; `pages`: answers GET for browsers
 */
export async function make(contestants, dist) {
  const programs = {};
  const files = new Map();
  for (const { id, on, syncTag } of contestants) {
    const outfile = join(dist, `matrix-${id}.mjs`);
    const isNode = on === "node";
    const alias = {
      "samekey/stores/sqlite": join(dist, "stores/sqlite.js"),
      samekey: join(dist, isNode ? "index.node.js" : "index.browser.js"),
    };
    const contents = isNode
      ? `import { open } from "./contestants/${id}.mjs"; import { run } from "./machines/node-main.mjs"; await run(open);`
      : `import { open } from "./contestants/${id}.mjs";
         globalThis.app = await open({ window: Number(new URLSearchParams(location.search).get("window")) });`;
    await bundle({ contents, resolveDir: here, outfile, alias, platform: on });
    if (isNode) programs[id] = outfile;
    else files.set(`/${id}/page.js`, readFileSync(outfile));
    if (!syncTag) continue;
    const worker = join(dist, `matrix-${id}-sw.js`);
    await bundle({ entry: join(here, `contestants/${id}-sw.mjs`), outfile: worker, platform: "worker" });
    files.set(`/${id}/sw.js`, readFileSync(worker));
  }
  return { programs, files };
}

/** Answers GET: pages, their scripts, and the call that is never answered. */
export function serve(api, files) {
  api.pages = (request, response) => {
    const { pathname } = new URL(request.url, "http://localhost");
    if (pathname === "/called") return api.onCalled?.();
    const script = files.get(pathname);
    const type = script ? "text/javascript" : "text/html";
    response.writeHead(200, { "content-type": type, "cache-control": "no-store" });
    response.end(
      script ?? '<!doctype html><link rel="icon" href="data:,"><script type="module" src="page.js"></script>',
    );
  };
}
