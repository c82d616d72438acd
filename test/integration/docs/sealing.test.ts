import * as assert from "node:assert/strict";
import * as crypto from "node:crypto";
import * as samekey from "samekey";
import * as seal from "samekey/seal";
import * as memory from "samekey/stores/memory";
import * as testing from "samekey/testing";
import { expect, test } from "vitest";
import { programsOf, runSnippet } from "../../support/snippets.js";

const modules = {
  "node:assert/strict": assert,
  "node:crypto": crypto,
  samekey,
  "samekey/seal": seal,
  "samekey/stores/memory": memory,
  "samekey/testing": testing,
};
const programs = programsOf("docs/sealing.md");

test.each(programs)("the program on line %i of docs/sealing.md does what it says", async (_, code) => {
  await runSnippet(code, modules, {});
});

test("there are programs to run", () => {
  expect(programs.length).toBeGreaterThan(1);
});
