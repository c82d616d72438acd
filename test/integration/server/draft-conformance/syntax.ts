import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { ask, askInLines, type DraftCase, type DraftServer, expectError, result } from "./server.js";

/** Fields that all name the key `key`: an item that is a String, with or without parameters. */
const sameKey = (key: string): readonly string[] => [
  `"${key}"`,
  key,
  `"${key}";a`,
  `"${key}";a=1`,
  `"${key}"; a="x;y, \\"z\\""; b=?0;c=:YQ==:;d=token;e=-1.5;f=@1659578233;g=%"f%c3%bc"`,
];

/** Fields that are no String, or no usable one. None may be taken for a request without a key. */
const noKey: readonly (readonly [what: string, field: string])[] = [
  ["nothing", ""],
  ["an empty String", '""'],
  ["a String of blanks", '"   "'],
  ["a String that does not end", '"key'],
  ["a String with an escape that is none", '"k\\ey"'],
  ["a String with a quote inside", '"k"ey"'],
  ["a String beyond ASCII", '"k\u00e9y"'],
  ["a String with a control character", '"k\ty"'],
  ["a String that is longer than is published", `"${"k".repeat(256)}"`],
  ["two Strings", '"key" "key"'],
  ["a List of two Strings", '"key", "key"'],
  ["a List of two Tokens", "key, yek"],
  ["an Inner List", '("key" "yek")'],
  ["a String with something behind it", '"key"x'],
  ["a parameter without a name", '"key";'],
  ["a parameter with a blank before it", '"key" ;a=1'],
  ["a parameter with a name in capitals", '"key";A=1'],
];

/** §2.1, and RFC 9651, which it rests on. */
export const syntax: readonly DraftCase[] = [
  {
    name: "§2.1 takes a key that is a String, and takes it for the same one in every way of writing it",
    async check(server) {
      const key = randomUUID();
      const answers = [];
      for (const field of sameKey(key)) answers.push(await ask(server, field));
      const [first, ...others] = answers.map(result);
      expect(first?.[0]).toBeLessThan(300);
      for (const other of others) expect(other).toEqual(first);
      expect(await server.done(key)).toBe(1);
    },
  },
  {
    name: "§2.1 tells keys apart that differ in one character, or in its case",
    async check(server) {
      const key = `k-${randomUUID()}`;
      const keys = [key, key.toUpperCase(), `${key}-`, `${key}\\`, `${key}"`];
      for (const one of keys) await ask(server, `"${one.replace(/["\\]/g, "\\$&")}"`);
      for (const one of keys) expect(await server.done(one), one).toBe(1);
    },
  },
  {
    name: "§2.1 reads the field in any case of its name, and with blanks around its value",
    async check(server) {
      const key = randomUUID();
      for (const name of ["Idempotency-Key", "idempotency-key", "IDEMPOTENCY-KEY", "iDEMPOTENCY-kEY"]) {
        expect(await askInLines(server, [`${name}:  "${key}" \t`])).toBeLessThan(300);
      }
      expect(await server.done(key)).toBe(1);
    },
  },
  {
    name: "§2.1 refuses more than one field in a request, the same or another",
    async check(server) {
      const key = randomUUID();
      for (const second of [`"${key}"`, key, `"${randomUUID()}"`, ""]) {
        expect(await askInLines(server, [`Idempotency-Key: "${key}"`, `Idempotency-Key: ${second}`])).toBe(400);
      }
      expect(await server.done(key)).toBe(0);
    },
  },
  ...noKey.map(([what, field]) => ({
    name: `§2.1 refuses ${what}`,
    async check(server: DraftServer) {
      expect(await askInLines(server, [`Idempotency-Key: ${field}`])).toBe(400);
      for (const key of ["key", "yek", "k", ""]) expect(await server.done(key)).toBe(0);
    },
  })),
  {
    name: "§2.7 refuses a bad key as it refuses none: by a problem with a link",
    check: async (server) => expectError(await ask(server, '"key'), 400, "Idempotency-Key is invalid"),
  },
];
