import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { FAULT_POINTS } from "../../src/core/fault-point.js";

const root = fileURLToPath(new URL("../..", import.meta.url));

function filesIn(folder: string, extension: string): Map<string, string> {
  const names = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" });
  const wanted = names.filter((name) => name.endsWith(extension));
  return new Map(wanted.map((name) => [name, readFileSync(join(root, folder, name), "utf8")]));
}

it("every fault point stands in the sources, and each of them behind the label that the build drops", () => {
  const sources = [...filesIn("src", ".ts")].filter(([name]) => name !== "core/fault-point.ts");
  const all = sources.map(([, text]) => text).join("\n");
  expect(FAULT_POINTS.filter((point) => !all.includes(`faultPoint("${point}")`))).toEqual([]);
  const lines = all.split("\n").filter((line) => line.includes("faultPoint("));
  expect(lines.filter((line) => !/^\s+FAULT: (if \(.+\) )?faultPoint\("[a-z]+:[a-z]+"\);$/.test(line))).toEqual([]);
});

it("no fault point is left in what is published", () => {
  const built = filesIn("dist", ".js");
  expect(built.size).toBeGreaterThan(10);
  for (const word of ["FAULT:", "faultPoint", ...FAULT_POINTS]) {
    expect([...built].filter(([, text]) => text.includes(word)).map(([name]) => `${name}: ${word}`)).toEqual([]);
  }
});
