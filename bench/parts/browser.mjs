// In real Chromium: one operation alone beside one strict transaction, and what a hundred saves cost IndexedDB.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { chromium } from "playwright";
import { root } from "../../scripts/entries.mjs";
import { serve } from "../support/child.mjs";
import { added, atMost, median, ms, times } from "../support/figures.mjs";

export async function measure({ quick, dist }) {
  const script = join(dist, "page.js");
  await bundle(join(root, "bench/browser/page.mjs"), script, { samekey: join(dist, "index.browser.js") });
  await bundle(join(root, "test/support/chromium.ts"), join(dist, "find-chromium.js"));
  const { findChromium } = await import(pathToFileURL(join(dist, "find-chromium.js")).href);
  const found = await findChromium();
  if (!found) return [{ what: "browser", measured: "left out: no Chromium (set CHROMIUM_PATH)" }];

  const server = await serve("support/server.mjs", { script });
  const browser = await chromium.launch(found);
  try {
    const page = await browser.newPage();
    await page.goto(server.said);
    await page.waitForFunction("globalThis.bench !== undefined");
    const samples = await page.evaluate((rounds) => globalThis.bench.alone(rounds), quick ? 100 : 1000);
    const together = await page.evaluate(() => globalThis.bench.saves(100, "one task"));
    const apart = await page.evaluate(() => globalThis.bench.saves(100, "a task each"));
    const about = `Chromium ${browser.version()}`;
    return [...aloneRow(samples, about), ...savesRows(together, apart)];
  } finally {
    await browser.close();
    server.stop();
  }
}

function aloneRow(samples, about) {
  const more = added(samples.samekey, samples.ky);
  // Chromium goes on with a commit that it has told, and a request that follows shares the machine with that.
  const least = added(samples.both, samples.ky);
  return [
    {
      what: `one operation alone in the browser (${about}), added to bare \`ky\``,
      measured: `${ms(more)} (medians ${ms(median(samples.samekey))} and ${ms(median(samples.ky))})`,
      limit: `one strict IndexedDB transaction before it ${ms(least)} (by itself ${ms(median(samples.transaction))})`,
      ratio: times({ median: more / least }),
      ...atMost(more / least, 1.2, " ×"),
    },
  ];
}

function savesRows(together, apart) {
  const row = (how, { strict, adds, others }, budget) => ({
    what: `browser: 100 saves, ${how}`,
    measured: `strict transactions: ${strict}; requests: ${adds} for the records, ${others} besides`,
    budget: `${budget} strict, one request per record`,
    met: strict <= budget && adds === 100,
  });
  return [row("all in one task", together, 1), row("a task each", apart, 2)];
}

function bundle(entry, outfile, alias = {}) {
  const browser = outfile.endsWith("page.js");
  return build({
    entryPoints: [entry],
    outfile,
    alias,
    bundle: true,
    minify: browser,
    format: "esm",
    platform: browser ? "browser" : "node",
    target: browser ? "es2022" : "node20",
    ...(browser ? { conditions: ["browser"] } : { packages: "external" }),
    logLevel: "error",
  });
}
