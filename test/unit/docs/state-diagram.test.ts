import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../../../scripts/entries.mjs";
import { FAULT_POINTS } from "../../../src/core/fault-point.js";
import { stateMoves } from "../../support/state-moves.js";

const read = (file: string) => readFileSync(join(root, "docs", file), "utf8");
const attributes = (svg: string, name: string) =>
  [...svg.matchAll(new RegExp(`data-${name}="([^"]+)"`, "g"))].map(([, value = ""]) => value);
const stateNames = (cell: string) => [...cell.matchAll(/`(\w+)`/g)].map(([, state = ""]) => state);

test("the table of moves in docs/concepts.md is what transition does", () => {
  const rows = read("concepts.md").split("| from |")[1]?.split("\n\n")[0]?.split("\n").slice(2) ?? [];
  const told = rows.flatMap((row) => {
    const [, from = "", samekey = "", person = ""] = row.split("|");
    const moves = (by: string, cell: string) => stateNames(cell).map((to) => `${by}: ${stateNames(from)[0]} → ${to}`);
    return [...moves("samekey", samekey), ...moves("person", person)];
  });
  expect(told.sort()).toEqual(stateMoves());
});

test("every arrow of the picture is a move that transition makes", () => {
  const arrows = attributes(read("pictures/states.svg"), "move");
  expect(arrows.length).toBeGreaterThan(10);
  expect(stateMoves()).toEqual(expect.arrayContaining(arrows));
});

test("every crash point of the picture is one that the crash matrix kills at", () => {
  const points = attributes(read("pictures/crash-points.svg"), "point");
  expect(points.length).toBeGreaterThan(5);
  expect(FAULT_POINTS).toEqual(expect.arrayContaining(points));
});
