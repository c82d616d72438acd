/** Vitest's global setup for the levels that use `dist`: builds it where it is missing or older than its sources. */

import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const result = join(root, "dist/index.d.ts");

export default function build(): void {
  if (existsSync(result) && newest() <= statSync(result).mtimeMs) return;
  console.log("building dist; the first results come after it");
  execFileSync("npm", ["run", "--silent", "build"], { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
}

function newest(): number {
  const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" }).map((path) =>
    join("src", path),
  );
  const inputs = [...sources, "tsup.config.ts", "tsconfig.json", "package.json", "scripts/entries.mjs"];
  return Math.max(...inputs.map((path) => statSync(join(root, path)).mtimeMs));
}
