import { fileURLToPath } from "node:url";
import { playwright } from "@vitest/browser-playwright";
import type { TestProjectInlineConfiguration } from "vitest/config";
import { defineConfig } from "vitest/config";
import { entries, importName, manifest } from "./scripts/entries.mjs";
import { findChromium } from "./test/support/chromium.js";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** `samekey` and its subpaths, as the given condition resolves them, but from the sources. */
const fromSource = (condition: "node" | "browser") =>
  entries.map(([subpath, sources]) => ({
    find: new RegExp(`^${importName(subpath)}$`),
    replacement: here(`src/${sources[condition] ?? sources.default}`),
  }));

/** A level of tests under Node: `test/<name>/**`. */
const level = (name: string, test: TestProjectInlineConfiguration["test"] = {}): TestProjectInlineConfiguration => ({
  extends: true,
  resolve: { alias: fromSource("node") },
  test: {
    name,
    environment: "node",
    include: [`test/${name}/**/*.test.ts`],
    exclude: ["**/*.browser.test.ts", "**/node_modules/**"],
    ...test,
  },
});

/** For levels that start processes of their own: those load `samekey` from `dist`. */
const built = { globalSetup: "test/support/built.ts", testTimeout: 120_000, hookTimeout: 120_000 };

const chromium = await findChromium();
// Vitest loads this file once for each project.
if (!chromium && !process.env["SAMEKEY_TOLD"]) {
  process.env["SAMEKEY_TOLD"] = "yes";
  console.warn("browser tests are left out: no Chromium (set CHROMIUM_PATH)");
}

const reactPackages = ["react", "react-dom/client", "react-dom/server", "@tanstack/react-query"];

const browser: TestProjectInlineConfiguration = {
  extends: true,
  resolve: { alias: fromSource("browser") },
  // Bundled beforehand: a dependency that Vite meets in the middle of a run reloads the page under its test.
  optimizeDeps: { include: [...Object.keys(manifest.dependencies), "fast-check", ...reactPackages] },
  test: {
    name: "browser",
    include: ["test/browser/**/*.test.ts", "test/contract/**/*.browser.test.ts"],
    testTimeout: 30_000,
    browser: {
      enabled: true,
      headless: true,
      screenshotFailures: false,
      provider: playwright({ launchOptions: chromium ?? {} }),
      instances: [{ browser: "chromium" }],
    },
  },
};

export default defineConfig({
  test: {
    reporters: ["default", "json"],
    outputFile: { json: process.env["VITEST_REPORT"] ?? "reports/vitest.json" },
    projects: [
      level("unit"),
      level("sealed", {
        include: ["test/unit/client/**/*.test.ts"],
        setupFiles: "test/support/sealed.ts",
        // Days of virtual time, every look of which opens what it finds.
        testTimeout: 30_000,
      }),
      // Hundreds of random steps on a real database, on a machine that is busy with other levels.
      level("contract", { testTimeout: 120_000, hookTimeout: 120_000 }),
      level("model", { testTimeout: 120_000 }),
      level("types", {
        include: [],
        typecheck: {
          enabled: true,
          only: true,
          include: ["test/types/**/*.test-d.ts"],
          tsconfig: "test/types/tsconfig.json",
        },
      }),
      level("integration", built),
      level("crash", built),
      level("package", { ...built, testTimeout: 300_000, hookTimeout: 300_000 }),
      ...(chromium ? [browser] : []),
    ],
  },
});
