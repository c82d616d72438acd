import { readdirSync } from "node:fs";
import { dirname } from "node:path";
import { defaultPath } from "../../stores/sqlite/place.js";

/** Tells which names `--name` could take: the files of the default directory. */
export function knownNames(): string {
  const directory = dirname(defaultPath("any"));
  const names = filesOf(directory).flatMap((file) => {
    const [, name] = /^(.+)\.sqlite$/.exec(file) ?? [];
    return name === undefined ? [] : [decodeURIComponent(name)];
  });
  return names.length === 0 ? `no store is in ${directory}` : `${directory} has ${names.sort().join(", ")}`;
}

function filesOf(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
