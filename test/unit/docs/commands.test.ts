import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { manifest, root } from "../../../scripts/entries.mjs";

const read = (page: string) => readFileSync(join(root, page), "utf8");
const pages = [
  "README.md",
  "CONTRIBUTING.md",
  ...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md") && !name.startsWith("reference"))
    .map((name) => `docs/${name}`),
];

/** The options of each verb of the command, as the report of the public surface has them. */
const verbs = new Map(
  read("docs/api.md")
    .split(/^### samekey /m)
    .slice(1)
    .map((part) => {
      const [name = "", ...lines] = part.split(/^## /m)[0]?.split("\n") ?? [];
      return [name, lines.flatMap((line) => /^\| `(--[\w-]+)/.exec(line)?.[1] ?? [])];
    }),
);

test.each(pages)("every npm script that %s names is there", (page) => {
  const named = [...read(page).matchAll(/npm run (?:--silent )?([\w:-]+)/g)].map(([, name = ""]) => name);
  expect(named.filter((name) => !(name in manifest.scripts))).toEqual([]);
});

test.each(pages.filter((page) => page !== "docs/api.md"))("every verb and option of samekey in %s is there", (page) => {
  const commands = [...read(page).matchAll(/\bnpx samekey ([a-z]+)((?:[^\n`|]|\\\n)*)/g)];
  const unknown = commands.flatMap(([command, verb = "", rest = ""]) => {
    const known = verbs.get(verb);
    if (!known) return [command];
    const options = [...rest.matchAll(/ (--[\w-]+)/g)].map(([, option = ""]) => option);
    return options.filter((option) => !known.includes(option)).map((option) => `${verb} ${option}`);
  });
  expect(unknown).toEqual([]);
});

test.each(pages)("every file of the sources that %s names is there", (page) => {
  const named = read(page).matchAll(/`((?:src|test|examples|bench|scripts)\/[\w./-]+)`/g);
  expect([...named].map(([, file = ""]) => file).filter((file) => !existsSync(join(root, file)))).toEqual([]);
});

test("the command is spoken of", () => {
  expect(verbs.size).toBeGreaterThan(10);
  expect(read("docs/operating.md").match(/npx samekey /g)?.length).toBeGreaterThan(8);
});
