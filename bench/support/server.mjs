// A server that does as little as a conforming one can: it reads the request and answers as if it had executed it. For
// a browser it also has the page.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import process from "node:process";

const receipt = JSON.stringify({ receipt: "r-1", status: "done" });
const headers = {
  "content-type": "application/json",
  "content-length": receipt.length,
  "idempotency-status": "executed",
};
// Isolated, so that the browser's clock is not coarsened.
const isolated = { "cross-origin-opener-policy": "same-origin", "cross-origin-embedder-policy": "require-corp" };

process.once("message", ({ script }) => {
  const files = {
    "/": ["text/html", '<!doctype html><script type="module" src="/page.js"></script>'],
    "/page.js": ["text/javascript", script && readFileSync(script)],
  };

  const server = createServer((request, response) => {
    const [type, content] = files[request.url] ?? [];
    if (request.method === "GET") {
      response.writeHead(content ? 200 : 404, { "content-type": type ?? "text/plain", ...isolated }).end(content);
      return;
    }
    request.resume();
    request.once("end", () => response.writeHead(201, headers).end(receipt));
  });
  // A connection that is closed for idleness in between would be counted against whoever comes next.
  server.keepAliveTimeout = 600_000;
  server.listen(0, "127.0.0.1", () => process.send(`http://127.0.0.1:${server.address().port}`));
});
process.once("disconnect", () => process.exit());
