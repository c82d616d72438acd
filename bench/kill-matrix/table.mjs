import { readFileSync, writeFileSync } from "node:fs";

const [begin, end] = ["<!-- figures -->", "<!-- /figures -->"];

/** What else there is to say of a cell, after lost / duplicated / stuck. */
const others = { failed: "failed", review: "to review", untold: "untold" };

function cellOf(cell) {
  if (!cell) return "–";
  const { lost = 0, duplicated = 0, stuck = 0 } = cell;
  const more = Object.entries(others).flatMap(([verdict, word]) => (cell[verdict] ? `${cell[verdict]} ${word}` : []));
  const worst = `${lost} / ${duplicated} / ${stuck}`;
  return [lost + duplicated + stuck > 0 ? `**${worst}**` : worst, ...more].join(", ");
}

/** How many trials there were of a cell. */
export const trialsOf = (cell = {}) => Object.values(cell).reduce((sum, n) => sum + n, 0);

function lines(results, rows, contestants) {
  const head = ["lost / duplicated / stuck", ...contestants.map(({ name }) => name)];
  const body = rows.map((row) => [row.name, ...contestants.map(({ id }) => cellOf(results[row.id]?.[id]))]);
  return [head, head.map(() => "---"), ...body].map((cells) => `| ${cells.join(" | ")} |`);
}

export function print(results, rows, contestants) {
  console.log(lines(results, rows, contestants).join("\n"));
}

/** Puts the table in the place of the last one. */
export function write(readme, results, rows, contestants, { date, hardware, system, node, packages }) {
  const versions = Object.entries(packages).map(([name, version]) => `${name} ${version}`);
  const counts = Object.values(results).flatMap(Object.values).map(trialsOf);
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  const trials = least === most ? `${least} trials a cell` : `${least} to ${most} trials a cell`;
  const text = readFileSync(readme, "utf8");
  const [head] = text.split(begin);
  const [, tail = "\n"] = text.split(end);
  const about = `${date} UTC · ${hardware} · ${system} · Node ${node} · ${versions.join(" · ")}`;
  const table = [begin, "", about, "", `${trials}.`, "", ...lines(results, rows, contestants), "", end];
  writeFileSync(readme, `${head}${table.join("\n")}${tail}`);
}
