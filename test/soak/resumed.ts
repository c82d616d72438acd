import { execFileSync } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import type { Row } from "./report.js";

interface Figure {
  readonly what: string;
  readonly measured: string;
  readonly budget?: string;
  readonly met?: boolean;
}

/**
 * Resumes a million pending operations, as the bench measures it.
 *
 * @param root - the project's directory
 */
export function resumed(root: string): readonly Row[] {
  const told = execFileSync(process.execPath, [join(root, "bench/run.mjs"), "resume", "--json"], {
    stdio: ["ignore", "pipe", "inherit"],
    encoding: "utf8",
  });
  return (JSON.parse(told) as Figure[]).map(({ what, measured, budget, met }) => ({
    name: what.replaceAll("`", ""),
    value: budget === undefined ? measured : `${measured}; budget ${budget}`,
    ...(met !== undefined && { met }),
  }));
}
