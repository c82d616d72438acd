import { defineConfig } from "vitepress";
import { contentSecurityPolicy } from "./content-security-policy.js";
import { plainEmptyHeads } from "./empty-heads.js";
import { nav, sidebar } from "./navigation.js";

export default defineConfig({
  lang: "en",
  title: "samekey",
  titleTemplate: ":title · samekey",
  description: "One operation, one idempotency key, every retry.",
  srcDir: "../docs",
  outDir: "../.tmp/site",
  cacheDir: "../.tmp/site-cache",
  // What is published must not hang on the day on which it was built.
  lastUpdated: false,
  metaChunk: true,
  head: [["meta", { name: "color-scheme", content: "light dark" }]],
  markdown: {
    config: plainEmptyHeads,
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
  },
  themeConfig: {
    nav,
    sidebar,
    outline: { level: [2, 3] },
    search: { provider: "local" },
    externalLinkIcon: true,
  },
  transformHtml: (code) => contentSecurityPolicy(code),
  vite: { server: { host: "127.0.0.1" }, preview: { host: "127.0.0.1" } },
});
