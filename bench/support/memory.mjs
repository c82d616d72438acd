/** What is left when nothing is garbage, in bytes. */
export function memory() {
  gc();
  gc();
  const { rss, heapUsed, external } = process.memoryUsage();
  return { rss, heap: heapUsed + external };
}
