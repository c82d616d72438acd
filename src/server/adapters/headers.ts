import type { HeaderPair } from "../answer.js";

/** Header lines in the form in which Node and its frameworks take them: a name, and one value or several. */
export function byName(lines: Iterable<HeaderPair>): Map<string, string | string[]> {
  const values = new Map<string, string | string[]>();
  for (const [name, value] of lines) {
    const other = values.get(name);
    values.set(name, other === undefined ? value : [other, value].flat());
  }
  return values;
}
