/** What stands for every name beyond the bound. */
const rest = "other";

/**
 * Lets so many names through, and calls the others `other`: names are meant to be constants, and one that is not must not
 * cost the memory of whoever counts.
 */
export function bounded(most: number): (name: string) => string {
  const names = new Set<string>();
  return (name) => {
    if (names.size < most) names.add(name);
    return names.has(name) ? name : rest;
  };
}
