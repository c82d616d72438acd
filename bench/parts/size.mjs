// What a page downloads: the figure of the package check.
import { execFileSync, spawnSync } from "node:child_process";
import process from "node:process";
import { root } from "../../scripts/entries.mjs";
import { atMost, thousands } from "../support/figures.mjs";

export async function measure() {
  // The check looks at `dist` alone, which may be older than its sources.
  execFileSync("npm", ["run", "--silent", "build"], { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
  const { stdout } = spawnSync(process.execPath, ["scripts/check-browser.mjs"], { cwd: root, encoding: "utf8" });
  const [, bytes] = /browser entry: (\d+) of/.exec(stdout) ?? [];
  if (bytes === undefined) throw new Error("the package check told no size");
  return [
    {
      what: "browser bundle with all dependencies, min+gzip",
      measured: `${thousands(Number(bytes))} bytes`,
      ...atMost(Number(bytes), 15 * 1024, " bytes"),
    },
  ];
}
