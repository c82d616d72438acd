import { readFileSync, writeFileSync } from "node:fs";
import process from "node:process";

const [begin, end] = ["<!-- figures -->", "<!-- /figures -->"];

const columns = ["what", "measured", "beside it", "ratio", "budget", "verdict"];
const verdict = ({ met }) => (met === undefined ? "" : met ? "met" : "**missed**");
const cells = (row) => [row.what, row.measured, row.limit ?? "", row.ratio ?? "", row.budget ?? "", verdict(row)];

/** Shows the figures of one part. */
export function print(name, rows, seconds) {
  process.stdout.write(`${name} (${seconds} s)\n`);
  for (const row of rows) {
    const [what, measured, limit, ratio, budget, judged] = cells(row);
    const beside = limit && `, beside ${limit}`;
    const judgement = budget && `: ${ratio && `${ratio}, `}budget ${budget}, ${judged.replaceAll("*", "")}`;
    process.stdout.write(`  ${what}: ${measured}${beside}${judgement}\n`);
  }
}

/** Puts the figures of a whole run in the place of the last ones. */
export function write(readme, results, before, after) {
  const { date, hardware, system, node, packages } = before;
  const busy = Math.max(before.load, after.load);
  const load =
    busy > before.cores / 2
      ? `The machine was busy with other work (load ${before.load.toFixed(1)} at the start, ${after.load.toFixed(1)} at the end): read the ratios, not the absolute figures.`
      : `The machine was otherwise idle (load ${before.load.toFixed(1)}).`;
  const versions = Object.entries(packages).map(([name, version]) => `${name} ${version}`);
  const lines = [
    begin,
    "",
    `${date} UTC · ${hardware} · ${system} · Node ${node} · ${versions.join(" · ")}`,
    "",
    load,
    "",
    ...[columns, columns.map(() => "---"), ...results.flatMap(({ rows }) => rows.map(cells))].map(
      (row) => `| ${row.join(" | ")} |`,
    ),
    "",
    end,
  ];
  const text = readFileSync(readme, "utf8");
  const [head] = text.split(begin);
  const [, tail = "\n"] = text.split(end);
  writeFileSync(readme, `${head}${lines.join("\n")}${tail}`);
}
