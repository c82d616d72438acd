import * as assert from "node:assert/strict";
import * as msw from "msw";
import * as mswNode from "msw/node";
import * as samekey from "samekey";
import * as memory from "samekey/stores/memory";
import * as testing from "samekey/testing";
import { expect, test } from "vitest";
import { programsOf, runSnippet } from "../../support/snippets.js";

const modules = {
  "node:assert/strict": assert,
  msw,
  "msw/node": mswNode,
  samekey,
  "samekey/stores/memory": memory,
  "samekey/testing": testing,
};
const programs = programsOf("docs/testing.md");

test.each(programs)("the program on line %i of docs/testing.md does what it says", async (_, code) => {
  await runSnippet(code, modules, {});
});

test("there are programs to run, and they assert something", () => {
  expect(programs.length).toBeGreaterThan(5);
  expect(programs.filter(([, code]) => code.includes("assert.")).length).toBeGreaterThan(5);
});
