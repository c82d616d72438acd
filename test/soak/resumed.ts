import { execFileSync } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import type { Row } from "./report.js";

interface Figure {
  readonly what: string;
  readonly measured: string;
  readonly limit?: string;
  readonly budget?: string;
  readonly met?: boolean;
}

/**
 * Resumes a million pending operations, as the bench measures it. How much memory that takes is judged; how long is told
 * only, because it depends on what else the machine does.
 *
 * @param root - the project's directory
 */
export function resumed(root: string): readonly Row[] {
  const told = execFileSync(process.execPath, [join(root, "bench/run.mjs"), "resume", "--json"], {
    stdio: ["ignore", "pipe", "inherit"],
    encoding: "utf8",
  });
  return (JSON.parse(told) as Figure[]).map(({ what, measured, limit, budget = "none", met = true }) => {
    const isTime = budget.endsWith(" ms");
    const beside = limit === undefined ? "" : `, beside ${limit}`;
    const value = `${measured}${beside}; budget ${budget}${isTime ? `, ${met ? "met" : "missed"}` : ""}`;
    return { name: what.replaceAll("`", ""), value, ...(!isTime && { met }) };
  });
}
