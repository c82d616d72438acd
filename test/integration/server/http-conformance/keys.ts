import { v4 } from "uuid";
import { expect } from "vitest";
import { exchange } from "../../../support/raw-http.js";
import { type Case, executed, marks, post, raw, replayed } from "./target.js";

const keys: readonly (readonly [name: string, first: string, second: string])[] = [
  ["bare and quoted", "k-1", '"k-1"'],
  ["with a quote in it, bare and escaped", 'k"2', '"k\\"2"'],
  ["with a backslash in it, bare and escaped", "k\\3", '"k\\\\3"'],
  ["of one character", "k", '"k"'],
  ["of 255 characters", "k".repeat(255), `"${"k".repeat(255)}"`],
  ["quoted, without and with parameters", '"k-4"', '"k-4"; a=1;b="; x";c'],
  ["of every visible character", "!#$%&'()*+,-./:;<=>?@[]^_`{|}~", '"!#$%&\'()*+,-./:;<=>?@[]^_`{|}~"'],
];

export const sameKeys: readonly Case[] = keys.map(([name, first, second]) => ({
  name: `takes a key ${name} for one key`,
  async check(target) {
    const account = { authorization: `Bearer acct_${v4().replaceAll("-", "")}` };
    expect(marks(await post(target, first, { headers: account }))).toEqual(executed);
    expect(marks(await post(target, second, { headers: account }))).toEqual(replayed);
  },
}));

const badKeys: readonly (readonly [name: string, line: string])[] = [
  ["empty", ""],
  ["empty in quotes", '""'],
  ["too long", "k".repeat(256)],
  ["with a space", "a b"],
  ["with a space in quotes", '"a b"'],
  ["with a tab", "a\tb"],
  ["beyond ASCII", "schl\u00fcssel"],
  ["with a quote that is not closed", '"abc'],
  ["of two values", "a, b"],
  ["of two quoted values", '"a", "a"'],
  ["with something else behind its quotes", '"abc"d'],
  ["with a parameter that is none behind its quotes", '"abc";A=1'],
];

export const refusedKeys: readonly Case[] = [
  ...badKeys.map(([name, line]) => [name, [`Idempotency-Key: ${line}`]] as const),
  ["on two lines", ["Idempotency-Key: same", "Idempotency-Key: same"]] as const,
  ["on two lines, one of them empty", ["Idempotency-Key: same", "Idempotency-Key:"]] as const,
].map(([name, lines]) => ({
  name: `refuses a key ${name}, without a word to the database`,
  async check(target) {
    const before = target.connections();
    const answer = await exchange(target.url, raw(lines));
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('"error":"idempotency_key_invalid"');
    expect(answer.toLowerCase()).not.toContain("idempotency-status");
    expect(target.connections()).toBe(before);
  },
}));
