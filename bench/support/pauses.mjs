import process from "node:process";

/**
 * Watches for pauses of this process's event loop, by a heartbeat of a millisecond.
 *
 * On a busy machine others take the processor away in the midst of it: `cpu`, the longest stretch by this process's own
 * processor time, tells what a quiet one would show, but for the waiting for disks.
 *
 * @returns what ends it and tells the longest, in milliseconds
 */
export function watchPauses() {
  let longest = { wall: 0, cpu: 0 };
  let last = performance.now();
  let used = process.cpuUsage();
  const beat = () => {
    const now = performance.now();
    const { user, system } = process.cpuUsage(used);
    longest = { wall: Math.max(longest.wall, now - last), cpu: Math.max(longest.cpu, (user + system) / 1000) };
    last = now;
    used = process.cpuUsage();
  };
  const timer = setInterval(beat, 1);
  return () => {
    beat();
    clearInterval(timer);
    return longest;
  };
}
