import { randomUUID } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import type { Holder } from "../client/platform-port.js";

/**
 * A holder that others on this machine can see die: its name tells the machine, the process and when it started, so
 * that a process id used again does not pass for the old one.
 */
export function createHolder(): Holder {
  let id: string | undefined;
  return {
    get id() {
      id ??= [machine(), process.pid, startOf(process.pid) ?? "", randomUUID()].join("|");
      return id;
    },
    survey: async () => {
      const place = machine();
      const dead = new Map<string, boolean>();
      return (holder) => {
        const [where, pid, start] = holder.split("|");
        if (where !== place || !pid) return false;
        const known = dead.get(`${pid}|${start}`) ?? isGone(Number(pid), start ?? "");
        dead.set(`${pid}|${start}`, known);
        return known;
      };
    },
    release: () => {},
  };
}

function isGone(pid: number, start: string): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
  const there = startOf(pid);
  // Where /proc shows nobody the processes of others (hidepid) it tells nothing of this one.
  return start !== "" && there !== undefined && there !== start;
}

/** Process ids mean something within one host, and on Linux within one pid namespace. */
function machine(): string {
  try {
    return `${hostname()}/${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    return hostname();
  }
}

/** When a process started, where the system tells (Linux: field 22 of its stat line). */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  } catch {
    return undefined;
  }
}
