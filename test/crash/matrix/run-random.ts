import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { seeded } from "../../../examples/demo/random.js";
import type { Disk } from "../power-loss/disk.js";
import { readRecords } from "../power-loss/stands.js";
import { Books } from "./books.js";
import type { Setting } from "./cells.js";
import type { Order, ProcessErrand } from "./errand.js";
import { live, type Program } from "./life.js";
import { drawOrders, hasRecovered, pick, RECOVERIES } from "./run-cell.js";
import { startServer } from "./server.js";

export interface RandomOptions extends Pick<ProcessErrand, "store" | "database" | "synced"> {
  readonly program: Program;
  /** How often processes are ended. */
  readonly trials: number;
  /** How many share the store. */
  readonly processes: number;
  readonly seed: number;
  /** A disk that loses power whenever processes are ended, all at once. */
  readonly disk?: Disk | undefined;
  readonly onTrial?: ((done: number) => void) | undefined;
}

export interface RandomReport {
  readonly kills: number;
  readonly orders: number;
  /** How many writes were lost with the power. */
  readonly lost: number;
  readonly faults: readonly string[];
}

const KINDS: Setting["orders"] = [
  ...(["plain", "refused", "flaky+", "large+", "plain+", "canceled", "reconciled", "discarded", "asked"] as const),
];

/** What one process, whoever it is at the time, has placed and not yet finished. */
interface Chain {
  readonly name: string;
  count: number;
  left: readonly Order[];
}

/**
 * Processes on one store, each ended from outside at any instant, or all at one; whoever comes next finishes what was left.
 * All of them ask for some of the others' orders too, but for those in a lane.
 */
export async function runRandom(options: RandomOptions): Promise<RandomReport> {
  const { store, database, trials, processes, seed, disk, synced, onTrial } = options;
  const program = { ...options.program, env: disk?.env };
  const random = seeded(seed);
  const directory = await mkdtemp(join(tmpdir(), "samekey-crash-"));
  const server = await startServer();
  const books = new Books(server, false);
  const path = join(disk?.files ?? directory, "state", "orders.sqlite");
  const chains = Array.from({ length: processes }, (_, i): Chain => ({ name: `till-${i}`, count: 0, left: [] }));
  const placed: Order[] = [];
  const faults: string[] = [];
  /** How long a life takes, as far as is known. */
  let span = 500;
  let kills = 0;
  let lost = 0;

  async function liveOnce(chain: Chain, fresh: readonly Order[], again: readonly Order[], after: number | undefined) {
    const life = live(program, {
      ...{ url: server.url, path, store, database, clock: { from: 0, speed: 1 }, prunes: false, synced },
      recovery: pick(random, RECOVERIES),
      ...{ left: chain.left, orders: fresh, again },
    });
    await life.began;
    const startedAt = performance.now();
    if (after !== undefined) void sleep(after).then(() => life.kill());
    const ending = await life.ended;
    books.hear(ending.told, path);
    if (ending.killed) kills++;
    else span = (span + performance.now() - startedAt) / 2;
    // Whoever is always ended before he has caught up has more to do each time.
    if (ending.killed && chain.left.length > 3 * KINDS.length) span *= 1.2;
    chain.left = ending.killed ? [...(hasRecovered(ending) ? [] : chain.left), ...fresh] : [];
  }

  async function round(): Promise<void> {
    const drawn = chains.map((chain) => drawOrders(KINDS, chain.name, chain.count, random));
    placed.push(...drawn.flat());
    books.add(drawn.flat());
    const atOnce = disk || random() < 0.3 ? random() * span : undefined;
    await Promise.all(
      chains.map((chain, i) => {
        const fresh = drawn[i] ?? [];
        chain.count += fresh.length;
        // Whoever asks for an order records it: where several do, a lane has the order in which they happened to ask.
        const others = drawn.flatMap((orders, other) =>
          other === i ? [] : orders.filter(({ kind, lane }) => kind === "plain" && !lane),
        );
        return liveOnce(chain, fresh, others, atOnce ?? random() * span * 1.2);
      }),
    );
    if (!disk) return;
    lost += disk.cut(random);
    const missing = books.missing(readRecords(path));
    if (missing.length > 0) throw new Error(`lost with the power: ${missing.join("; ")}`);
  }

  try {
    while (kills < trials) {
      await round();
      onTrial?.(kills);
    }
    for (const chain of chains) await liveOnce(chain, [], [], undefined);
    await liveOnce(
      { name: "last", count: 0, left: [] },
      [],
      placed.filter(({ kind }) => kind === "plain"),
      undefined,
    );
  } catch (error) {
    faults.push((error as Error).message);
  } finally {
    await server.close();
    await rm(directory, { recursive: true, force: true });
  }
  return { kills, orders: placed.length, lost, faults: [...faults, ...books.faults()] };
}
