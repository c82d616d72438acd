import * as assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import * as samekey from "samekey";
import * as memory from "samekey/stores/memory";
import * as testing from "samekey/testing";
import { expect, test } from "vitest";
import { root } from "../../../scripts/entries.mjs";
import { programsOf, runSnippet } from "../../support/snippets.js";

const modules = {
  "node:assert/strict": assert,
  samekey,
  "samekey/stores/memory": memory,
  "samekey/testing": testing,
};
const pages = readdirSync(join(root, "docs/recipes")).filter((name) => name.endsWith(".md"));

test("there are six recipes", () => expect(pages).toHaveLength(6));

// The app that works offline is run in a browser: test/integration/browser/docs.test.ts.
test.each(pages.filter((page) => page !== "offline-app.md"))(
  "the program of docs/recipes/%s does what it says",
  async (page) => {
    const [program, ...others] = programsOf(`docs/recipes/${page}`);
    expect(others).toEqual([]);
    expect(program?.[1]).toContain("assert.");
    await runSnippet(program?.[1] ?? "", modules, {});
  },
);
