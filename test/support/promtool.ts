import { execFile } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/**
 * Finds promtool (Debian package `prometheus`).
 *
 * @returns undefined where there is none; under `CI` that is an error, so that no test is skipped unseen
 */
export function findPromtool(): string | undefined {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/bin"];
  const found = folders.map((folder) => join(folder, "promtool")).find(isExecutable);
  if (found === undefined && process.env["CI"]) throw new Error("no promtool found: install the package prometheus");
  return found;
}

/** @returns what it says, and whether it is content */
export function runPromtool(
  program: string,
  ...args: string[]
): Promise<{ readonly ok: boolean; readonly said: string }> {
  return new Promise((resolve) => {
    execFile(program, args, (error, stdout, stderr) => resolve({ ok: error === null, said: stdout + stderr }));
  });
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
