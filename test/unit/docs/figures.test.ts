import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../../../scripts/entries.mjs";
import { pages, renewed } from "../../../scripts/figures.mjs";

test.each(pages)("the figures of %s are those of the benches' tables (else: npm run docs:figures)", (page) => {
  const text = readFileSync(join(root, page), "utf8");
  expect(text).toMatch(/<!-- figures: \w+ -->/);
  expect(text).toBe(renewed(page));
});
