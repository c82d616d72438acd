/**
 * A mark outside of IndexedDB that a database once held records: a browser that evicts the one usually leaves the other.
 * Workers have no `localStorage`, and a page may be denied it: then nothing is known, and nothing is said.
 */

export function plantCanary(database: string): void {
  try {
    localStorage.setItem(database, "1");
  } catch {}
}

export function hasCanary(database: string): boolean {
  try {
    return localStorage.getItem(database) !== null;
  } catch {
    return false;
  }
}
