import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { chromium } from "playwright";
import { root } from "../../scripts/entries.mjs";

/** Where Chromium is, as the tests find it. */
export async function locate(directory) {
  const outfile = join(directory, "find-chromium.js");
  const entryPoints = [join(root, "test/support/chromium.ts")];
  await build({ entryPoints, outfile, bundle: true, format: "esm", platform: "node", packages: "external" });
  const { findChromium } = await import(pathToFileURL(outfile).href);
  return findChromium();
}

/** Starts Chromium on a profile, so that it can be killed as a whole, as when the power button is held. */
export async function startChromium({ executablePath, args, env }, profile) {
  const own = ["--headless", "--remote-debugging-port=0", `--user-data-dir=${profile}`, "about:blank"];
  const child = spawn(executablePath, [...args, ...own], { env, stdio: ["ignore", "ignore", "pipe"], detached: true });
  const lines = createInterface(child.stderr);
  const exit = once(child, "exit");
  const end = () => child.exitCode === null && child.signalCode === null && process.kill(-child.pid, "SIGKILL");
  process.once("exit", end);
  const endpoint = await new Promise((resolve, reject) => {
    lines.on("line", (line) => {
      const url = /DevTools listening on (\S+)/.exec(line)?.[1];
      if (url) resolve(url);
    });
    exit.then(([code, signal]) => reject(new Error(`Chromium ended with ${code ?? signal}`)));
  });
  const browser = await chromium.connectOverCDP(endpoint);
  return {
    browser,
    context: browser.contexts()[0],
    async kill() {
      process.off("exit", end);
      end();
      await exit;
      await browser.close().catch(() => {});
    },
  };
}
