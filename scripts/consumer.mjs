// A program that uses the package as users get it: packed, installed from the tarball, outside of this checkout.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "./entries.mjs";

/**
 * Packs `dist`, installs it in a new temporary directory beside the files of test/package/consumer.
 *
 * @param {string[]} links packages of this checkout that the program has as well: an optional peer need not be compiled again
 * @returns the directory
 */
export function installPacked(links = []) {
  const directory = mkdtempSync(join(tmpdir(), "samekey-consumer-"));
  const npm = (args, cwd) => execFileSync("npm", [...args, "--loglevel=error"], { cwd, encoding: "utf8" });
  const [{ filename }] = JSON.parse(npm(["pack", "--json", "--pack-destination", directory], root));
  writeFileSync(join(directory, "package.json"), JSON.stringify({ name: "consumer", private: true, type: "module" }));
  npm(["install", "--no-audit", "--no-fund", "--prefer-offline", `./${filename}`], directory);
  for (const name of links) symlinkSync(join(root, "node_modules", name), join(directory, "node_modules", name));
  mkdirSync(join(directory, "data"));
  cpSync(join(root, "test/package/consumer"), directory, { recursive: true });
  return directory;
}
