import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { expect, test } from "vitest";
import { root } from "../../../scripts/entries.mjs";

const [{ files }] = JSON.parse(
  execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], { cwd: root, encoding: "utf8" }),
) as [{ files: { path: string }[] }];
const packed = new Set(files.map(({ path }) => path));
const pages = [...packed].filter((path) => path.endsWith(".md"));

const textOf = (page: string) => readFileSync(join(root, page), "utf8").replace(/^```[\s\S]*?^ *```/gm, "");

/** GitHub's anchors of a page's headings. */
function anchorsOf(page: string): Set<string> {
  const seen = new Map<string, number>();
  const headings = [...textOf(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) => {
    const anchor = heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-");
    const count = seen.get(anchor) ?? 0;
    seen.set(anchor, count + 1);
    return count === 0 ? anchor : `${anchor}-${count}`;
  });
  return new Set(headings);
}

test("the tarball has the pages and pictures, and nothing of the built site", () => {
  expect(pages).toEqual(expect.arrayContaining(["README.md", "docs/index.md", "docs/quick-start.md"]));
  expect([...packed].filter((path) => /^(site|docs\/reference)\//.test(path))).toEqual([]);
});

test.each(pages)("every link of %s leads to something that is in the tarball", (page) => {
  const links = [...textOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link);
  const dead = links.filter((link) => {
    if (/^https?:/.test(link)) return false;
    const [path = "", anchor] = link.split("#");
    const target = path === "" ? page : normalize(join(dirname(page), decodeURI(path)));
    return !packed.has(target) || (anchor !== undefined && !anchorsOf(target).has(anchor));
  });
  expect(dead).toEqual([]);
});
