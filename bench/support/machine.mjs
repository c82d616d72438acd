import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { availableParallelism, cpus, loadavg, release, totalmem, type } from "node:os";
import process from "node:process";

const require = createRequire(import.meta.url);

function version(name) {
  try {
    return require(`${name}/package.json`).version;
  } catch {
    // Not every package exports its manifest.
    const path = new URL(`../../node_modules/${name}/package.json`, import.meta.url);
    return JSON.parse(readFileSync(path, "utf8")).version;
  }
}

/** What a figure has to be read with. */
export function machine() {
  return {
    date: new Date().toISOString().slice(0, 16).replace("T", " "),
    cores: availableParallelism(),
    hardware: `${cpus()[0]?.model.trim()}, ${availableParallelism()} cores, ${Math.round(totalmem() / 2 ** 30)} GiB`,
    system: `${type()} ${release()}`,
    node: process.versions.node,
    packages: Object.fromEntries(["ky", "better-sqlite3", "idb-keyval", "playwright"].map((it) => [it, version(it)])),
    load: loadavg()[0],
  };
}
