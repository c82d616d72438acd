import { createHash, randomUUID } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import type { Holder, Platform } from "../client/platform-port.js";
import { createSdkWith } from "../client/sdk.js";
import type { Sdk } from "../client/sdk-interface.js";
import type { Operations, SdkOptions } from "../client/types.js";
import { type WrapFetchOptions, type WrappedFetch, wrapFetchWith } from "../client/wrap-fetch.js";
import { sqliteStore } from "../stores/sqlite.js";
import { channels } from "./channels.js";
import { keepAlive } from "./keep-alive.js";
import { commonPlatform } from "./none.js";
import { provesUnsent } from "./unsent.js";

const nodePlatform: Platform = {
  ...commonPlatform,
  telemetry: [channels],
  concurrency: 32,
  // Other processes on the same file have no way to call.
  pollEvery: 2_000,
  seesRedirects: true,
  provesUnsent,
  defaultStore: () => sqliteStore(),
  keepAlive,
  createHolder,
  digest,
};

/** As every Node process makes it. */
export async function digest(bytes: Uint8Array): Promise<string> {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

/**
 * A holder that others on this machine can see die: its name tells the machine, the process and when it started, so
 * that a process id used again does not pass for the old one.
 */
function createHolder(): Holder {
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
  return start !== "" && startOf(pid) !== start;
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

/**
 * Makes an Sdk. Does no I/O and touches no global: the store opens at first use.
 *
 * @throws MisuseError `bad_option`, naming the option and the remedy
 */
export function createSdk<const Ops extends Operations>(options: SdkOptions<Ops>): Sdk<Ops> {
  return createSdkWith(options, nodePlatform);
}

/**
 * Wraps a `fetch`: the writes that it covers are recorded, keyed, retried and resumable, everything else passes through
 * untouched. Does no I/O until it is called.
 *
 * @throws MisuseError `bad_option`, naming the option and the remedy
 */
export function wrapFetch(fetch: typeof globalThis.fetch, options: WrapFetchOptions): WrappedFetch {
  return wrapFetchWith(fetch, options, nodePlatform);
}
