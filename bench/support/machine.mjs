import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { availableParallelism, cpus, loadavg, release, totalmem, type } from "node:os";
import { join } from "node:path";
import process from "node:process";

/** The version of a package as a program at `from` would load it; not every package exports its manifest. */
function version(name, from) {
  const places = createRequire(from).resolve.paths(name) ?? [];
  const manifest = places.map((place) => join(place, name, "package.json")).find((path) => existsSync(path));
  return manifest === undefined ? "?" : JSON.parse(readFileSync(manifest, "utf8")).version;
}

/** What a figure has to be read with. */
export function machine(packages = [], from = import.meta.url) {
  return {
    date: new Date().toISOString().slice(0, 16).replace("T", " "),
    cores: availableParallelism(),
    hardware: `${cpus()[0]?.model.trim()}, ${availableParallelism()} cores, ${Math.round(totalmem() / 2 ** 30)} GiB`,
    system: `${type()} ${release()}`,
    node: process.versions.node,
    packages: Object.fromEntries(packages.map((it) => [it, version(it, from)])),
    load: loadavg()[0],
  };
}
