import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Random, seeded } from "../../../examples/demo/random.js";
import type { FaultPoint } from "../../../src/core/fault-point.js";
import { Books } from "./books.js";
import { isMoment, type Place } from "./cells.js";
import type { Errand, Kind, Order, Recovery } from "./errand.js";
import { type Ending, live, type Program } from "./life.js";
import { startServer } from "./server.js";

export interface CellOptions {
  readonly program: Program;
  readonly place: Place;
  readonly driver: Errand["driver"];
  /** How often the process is ended. */
  readonly trials: number;
  readonly seed: number;
  readonly onTrial?: ((done: number) => void) | undefined;
}

export interface CellReport {
  readonly place: Place;
  readonly driver: Errand["driver"];
  /** How often the process was ended at the place. */
  readonly kills: number;
  readonly orders: number;
  readonly faults: readonly string[];
}

const KINDS: readonly Kind[] = ["plain", "refused", "flaky", "large"];
const RECOVERIES: readonly Recovery[] = ["resume", "start", "ask again"];

/**
 * One cell: life after life on one file, each ended at the place, while it finishes what the last one left or places orders
 * of its own. The last life is left alone; then everything is compared.
 */
export async function runCell({ program, place, driver, trials, seed, onTrial }: CellOptions): Promise<CellReport> {
  const random = seeded(seed);
  const directory = await mkdtemp(join(tmpdir(), "samekey-crash-"));
  const server = await startServer();
  const books = new Books(server);
  let kills = 0;
  let orders = 0;
  let left: readonly Order[] = [];
  /** How often an undisturbed life comes to the place. */
  let hits = 0;

  async function next(isEnded: boolean, isLast = false): Promise<void> {
    const fresh = isLast ? [] : ordersOf(orders);
    orders += fresh.length;
    books.add(fresh);
    const hit = isEnded ? 1 + Math.floor(random() * hits) : undefined;
    const recovery = isLast ? "resume" : pick(random, RECOVERIES);
    const end = hit !== undefined && !isMoment(place) ? { point: place, hit } : undefined;
    let seen = 0;
    server.onMoment = (moment) => (moment === place && ++seen === hit ? life.kill() : undefined);
    const path = join(directory, "orders.sqlite");
    const life = live(program, { url: server.url, path, driver, end, recovery, left, orders: fresh });
    const ending = await life.ended;
    hits = Math.max(hits, isMoment(place) ? seen : (hitsOf(ending)[place] ?? 0));
    books.hear(ending.told);
    if (ending.killed) kills++;
    left = ending.killed ? [...(hasRecovered(ending) ? [] : left), ...fresh] : [];
  }

  try {
    await next(false);
    if (hits === 0) throw new Error(`${place} is never reached`);
    // One may end before it comes to the place so often: how much shares a commit differs.
    for (let lives = 0; kills < trials && lives < 20 + 4 * trials; lives++) {
      await next(true);
      onTrial?.(kills);
    }
    await next(false, true);
    const faults = books.faults();
    if (kills < trials) faults.push(`it was ended ${kills} times instead of ${trials}`);
    return { place, driver, kills, orders, faults };
  } catch (error) {
    return { place, driver, kills, orders, faults: [...books.faults(), (error as Error).message] };
  } finally {
    await server.close();
    await rm(directory, { recursive: true, force: true });
  }
}

function ordersOf(first: number): Order[] {
  return KINDS.map((kind, index) => ({
    order: String(first + index),
    kind,
    saved: (first / KINDS.length + index) % 2 === 0,
  }));
}

function hitsOf({ told }: Ending): Partial<Record<FaultPoint, number>> {
  return told.find((one) => one.what === "done")?.hits ?? {};
}

const hasRecovered = ({ told }: Ending): boolean => told.some(({ what }) => what === "recovered");

const pick = <T>(random: Random, list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
