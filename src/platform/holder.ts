import { createHash, randomUUID } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import type { Holder } from "../client/platform-port.js";

/**
 * A holder that others on this machine can see die: its name tells the machine, the process and when it started, so
 * that a process id used again does not pass for the old one.
 */
export function createHolder(): Holder {
  let id: string | undefined;
  let here: Machine | undefined;
  const machine = (): Machine => {
    here ??= thisMachine();
    return here;
  };
  return {
    get id() {
      id ??= [machine().place, process.pid, startOf(process.pid) ?? "", randomUUID()].join("|");
      return id;
    },
    survey: async () => {
      const { place } = machine();
      const dead = new Map<string, boolean>();
      return (holder) => {
        const [where, pid, start] = holder.split("|");
        if (where !== place || !pid) return false;
        const known = dead.get(`${pid}|${start}`) ?? isGone(Number(pid), start ?? "");
        dead.set(`${pid}|${start}`, known);
        return known;
      };
    },
    steady: () => (machine().isKnown ? sinceBoot() : undefined),
    lasts({ holder, steady, length }) {
      if (steady === undefined || !machine().isKnown || !holder.startsWith(`${machine().place}|`)) return undefined;
      const left = steady - sinceBoot();
      // Of a machine that was put back to an earlier state it tells nothing.
      return left <= length ? left > 0 : undefined;
    },
    release: () => {},
  };
}

/** In milliseconds; not counting what the machine slept. */
function sinceBoot(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
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

/** Where process ids mean the same thing. */
interface Machine {
  readonly place: string;
  /** It is no other one of the same name, and no earlier boot of it: what counts from its boot means the same thing, too. */
  readonly isKnown: boolean;
}

/** Names are given to several machines, and pid namespaces are numbered alike on all of them: Linux tells the boot. */
function thisMachine(): Machine {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8");
    const parts = [boot, readlinkSync("/proc/self/ns/pid"), timeNamespace()];
    const hash = createHash("sha256").update(parts.join()).digest("base64url").slice(0, 16);
    return { place: `${hostname()}/${hash}`, isKnown: true };
  } catch {
    return { place: hostname(), isKnown: false };
  }
}

/** Its clocks may count from another moment. Older kernels have none. */
function timeNamespace(): string {
  try {
    return readlinkSync("/proc/self/ns/time");
  } catch {
    return "";
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
