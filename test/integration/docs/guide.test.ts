import * as assert from "node:assert/strict";
import * as samekey from "samekey";
import * as memory from "samekey/stores/memory";
import * as testing from "samekey/testing";
import { expect, test } from "vitest";
import * as zod from "zod";
import { programsOf, runSnippet } from "../../support/snippets.js";

const modules = {
  "node:assert/strict": assert,
  samekey,
  "samekey/stores/memory": memory,
  "samekey/testing": testing,
  zod,
};
const programs = programsOf("docs/guide.md");

test.each(programs)("the program on line %i of docs/guide.md does what it says", async (_, code) => {
  await runSnippet(code, modules, {});
});

test("each section has a program, and each program asserts something", () => {
  expect(programs.length).toBeGreaterThanOrEqual(12);
  expect(programs.filter(([, code]) => !code.includes("assert."))).toEqual([]);
});
