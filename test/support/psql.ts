import { spawnSync } from "node:child_process";

/**
 * Whether there is a psql (Debian package `postgresql-client`). Where there is none, the reason for what is left out is
 * printed; under `CI` it is an error, so that no test is skipped unseen.
 */
export function hasPsql(): boolean {
  if (spawnSync("psql", ["--version"]).status === 0) return true;
  const reason = "no psql found: install the package postgresql-client";
  if (process.env["CI"]) throw new Error(reason);
  console.warn(`left out: ${reason}`);
  return false;
}
