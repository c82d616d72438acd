import type * as fs from "node:fs";
import process from "node:process";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { createHolder } from "../../../src/platform/holder.js";

/** Processes that /proc does not show, and what it says of the boot where that is to be another machine's. */
const hidden = vi.hoisted(() => new Set<number>());
const machine = vi.hoisted((): { boot?: string } => ({}));

vi.mock("node:fs", async (original) => {
  const real = await original<typeof fs>();
  const readFileSync = (...args: Parameters<typeof real.readFileSync>) => {
    const [, pid] = /^\/proc\/(\d+)\/stat$/.exec(String(args[0])) ?? [];
    if (hidden.has(Number(pid))) throw Object.assign(new Error("no such file"), { code: "ENOENT" });
    const isBoot = machine.boot !== undefined && String(args[0]).endsWith("/boot_id");
    return isBoot ? machine.boot : real.readFileSync(...args);
  };
  return { ...real, readFileSync };
});

/** The holder of another process on this machine. */
const holderOf = (pid: number, start: string): string => {
  const [place, , , random] = createHolder().id.split("|");
  return [place, pid, start, random].join("|");
};

describe("a holder in Node", () => {
  beforeEach(() => {
    hidden.clear();
    delete machine.boot;
  });

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

  it.skipIf(process.platform !== "linux")(
    "is not judged by a machine of the same name, nor after a restart",
    async () => {
      machine.boot = "one";
      const gone = holderOf(2 ** 22 + 1, "1");
      const holder = createHolder();
      const [now = 0, length] = [holder.steady?.(), 30_000];
      const lease = { holder: gone, until: 0, length, steady: now + length };
      expect([(await holder.survey())(gone), holder.lasts?.(lease)]).toEqual([true, true]);
      expect(holder.lasts?.({ ...lease, steady: now })).toBe(false);
      // From after the state that the machine was put back to.
      expect(holder.lasts?.({ ...lease, steady: now + 2 * length })).toBeUndefined();
      machine.boot = "other";
      const other = createHolder();
      expect([(await other.survey())(gone), other.lasts?.(lease)]).toEqual([false, undefined]);
    },
  );
});
