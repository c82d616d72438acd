import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Where `npm run server` listens; pages and API share one origin, as behind any gateway. */
const api = process.env["API"] ?? "http://127.0.0.1:3000";

export default defineConfig(({ isPreview }) => ({
  root: here("."),
  // Inside this repository the package is its own build; in an app it is simply installed.
  resolve: {
    alias: { "samekey/inspector": here("../../dist/inspector.js"), samekey: here("../../dist/index.browser.js") },
  },
  build: { outDir: here("../../.tmp/web-example"), emptyOutDir: true },
  preview: { proxy: { "/transfers": api, "/ledger": api } },
  // A preview says at which URL it is.
  logLevel: isPreview ? "info" : "warn",
}));
