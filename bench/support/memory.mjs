import { median } from "./figures.mjs";

/** So many samples are taken, over so many operations. */
export const SAMPLES = 5;
export const SPREAD = 1000;

/** What is left when nothing is garbage, in bytes. */
export function memory() {
  gc();
  gc();
  const { rss, heapUsed, external } = process.memoryUsage();
  return { rss, heap: heapUsed + external };
}

/** The median of some samples. */
export function middle(samples) {
  return { rss: median(samples.map(({ rss }) => rss)), heap: median(samples.map(({ heap }) => heap)) };
}
