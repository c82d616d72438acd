import type * as fs from "node:fs";
import process from "node:process";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { createHolder } from "../../../src/platform/holder.js";

/** Processes that /proc does not show. */
const hidden = vi.hoisted(() => new Set<number>());

vi.mock("node:fs", async (original) => {
  const real = await original<typeof fs>();
  const readFileSync = (...args: Parameters<typeof real.readFileSync>) => {
    const [, pid] = /^\/proc\/(\d+)\/stat$/.exec(String(args[0])) ?? [];
    if (hidden.has(Number(pid))) throw Object.assign(new Error("no such file"), { code: "ENOENT" });
    return real.readFileSync(...args);
  };
  return { ...real, readFileSync };
});

/** The holder of another process on this machine. */
const holderOf = (pid: number, start: string): string => {
  const [place, , , random] = createHolder().id.split("|");
  return [place, pid, start, random].join("|");
};

describe("a holder in Node", () => {
  beforeEach(() => hidden.clear());

  it("is taken for dead once its process is gone, or its id is another one's", async () => {
    const isDead = await createHolder().survey();
    expect(isDead(holderOf(2 ** 22 + 1, "1"))).toBe(true);
    const isLinux = process.platform === "linux";
    expect(isDead(holderOf(process.ppid, "1"))).toBe(isLinux);
  });

  it("lives as long as its process does, also where the system shows nobody the processes of others", async () => {
    const other = holderOf(process.ppid, "1");
    hidden.add(process.ppid);
    expect((await createHolder().survey())(other)).toBe(false);
  });
});
