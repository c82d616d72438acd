import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Random, seeded } from "../../../examples/demo/random.js";
import type { FaultPoint } from "../../../src/core/fault-point.js";
import { Books } from "./books.js";
import { isMoment, type Place, type Setting, settingOf } from "./cells.js";
import type { Errand, Kind, Order, ProcessErrand, Recovery } from "./errand.js";
import { type Ending, type Life, live, type Program } from "./life.js";
import { type Server, startServer } from "./server.js";

export interface CellOptions {
  /** Lets it live. */
  readonly start: (errand: Errand) => Life;
  readonly server: Server;
  readonly place: Place;
  /** How often it is ended. */
  readonly trials: number;
  readonly seed: number;
  readonly onTrial?: ((done: number) => void) | undefined;
}

export interface ProcessCellOptions
  extends Omit<CellOptions, "start" | "server">,
    Pick<ProcessErrand, "store" | "database"> {
  readonly program: Program;
}

export interface CellReport {
  readonly place: Place;
  /** How often the process was ended at the place. */
  readonly kills: number;
  readonly orders: number;
  readonly faults: readonly string[];
}

export const RECOVERIES: readonly Recovery[] = ["resume", "start", "ask again"];

/**
 * One cell: life after life on one store, each ended at the place, while it finishes what the last one left or places orders
 * of its own. The last life is left alone; then everything is compared.
 */
export async function runCell(options: CellOptions): Promise<CellReport> {
  const { place, trials, onTrial } = options;
  const cell = await Cell.open(options);
  const faults: string[] = [];
  try {
    // How often the place is come to: for a few kills the first time is enough.
    if (trials > 3) await cell.live();
    // One may come to its end before it comes to the place: how much shares a commit differs, and half may end elsewhere first.
    for (let lives = 0; cell.kills < trials && lives < 20 + 15 * trials; lives++) {
      await cell.live("ended");
      onTrial?.(cell.kills);
    }
    await cell.live("last");
    if (cell.kills < trials) faults.push(`it was ended ${cell.kills} times instead of ${trials}`);
  } catch (error) {
    faults.push((error as Error).message);
  } finally {
    await cell.close();
  }
  return { place, kills: cell.kills, orders: cell.orders, faults: [...faults, ...cell.faults()] };
}

/** A cell whose lives are processes, with a server of its own. */
export async function runProcesses({ program, store, database, ...options }: ProcessCellOptions): Promise<CellReport> {
  const server = await startServer();
  try {
    return await runCell({ ...options, server, start: (errand) => live(program, { ...errand, store, database }) });
  } finally {
    await server.close();
  }
}

class Cell {
  kills = 0;
  readonly #options: CellOptions;
  readonly #directory: string;
  readonly #books: Books;
  readonly #random: Random;
  readonly #from = Date.now();
  #placed: Order[] = [];
  #left: readonly Order[] = [];
  #file = 0;
  #lives = 0;
  /** How often an undisturbed life comes to the place. */
  #hits = 1;

  static async open(options: CellOptions): Promise<Cell> {
    return new Cell(options, await mkdtemp(join(tmpdir(), "samekey-crash-")));
  }

  private constructor(options: CellOptions, directory: string) {
    this.#options = options;
    this.#directory = directory;
    this.#random = seeded(options.seed);
    this.#books = new Books(options.server, settingOf(options.place).prunes === true);
  }

  get orders(): number {
    return this.#placed.length;
  }

  faults(): string[] {
    return this.#books.faults();
  }

  async live(how: "undisturbed" | "ended" | "last" = "undisturbed"): Promise<void> {
    const { start, server, place } = this.#options;
    const setting = settingOf(place);
    const fresh = how === "last" ? [] : this.#draw(setting.orders);
    // In a store that has been made before, the places where it is made are not come to.
    const hasMuch = this.#left.length > 3 * setting.orders.length;
    // One that is always ended before it has caught up has more to do each time.
    const isEnded = how === "ended" && !hasMuch && !(setting.fresh && this.#left.length > 0);
    const isFirst = isEnded && setting.first !== undefined && this.#lives % 2 === 0;
    const point = isFirst ? setting.first : place;
    const hit = isFirst ? 1 : 1 + Math.floor(this.#random() * this.#hits);
    const end = isEnded && point && !isMoment(point) ? { point, hit } : undefined;
    const path = join(this.#directory, `${this.#file}.sqlite`);
    let seen = 0;
    server.onMoment = (moment) => {
      if (moment !== place) return undefined;
      seen++;
      return isEnded && seen === hit ? life.kill() : undefined;
    };
    const life = start({
      url: server.url,
      path,
      end,
      recovery: how === "last" ? "resume" : pick(this.#random, RECOVERIES),
      clock: { from: this.#from, speed: setting.speed ?? 1 },
      prunes: setting.prunes ?? false,
      left: this.#left,
      orders: fresh,
      again: how === "last" && !setting.fresh ? this.#placed.filter(({ kind }) => kind === "plain") : [],
    });
    const ending = await life.ended;
    this.#lives++;
    this.#books.hear(ending.told, path);
    if (!ending.killed) this.#hits = Math.max(this.#hits, isMoment(place) ? seen : (hitsOf(ending)[place] ?? 0));
    if (ending.killed && !isFirst) this.kills++;
    this.#left = ending.killed ? [...(hasRecovered(ending) ? [] : this.#left), ...fresh] : [];
    // A refusal that was dropped is forgotten: to ask for it again would be another order.
    if (setting.prunes) this.#left = this.#left.filter((order) => !this.#books.wasRefused(order));
    if (setting.fresh && !ending.killed && how !== "last") this.#file++;
  }

  async close(): Promise<void> {
    await rm(this.#directory, { recursive: true, force: true });
  }

  #draw(kinds: Setting["orders"]): Order[] {
    const orders = drawOrders(kinds, this.#options.place, this.#placed.length, this.#random);
    this.#placed.push(...orders);
    this.#books.add(orders);
    return orders;
  }
}

/** New orders, numbered from `first`. */
export function drawOrders(kinds: Setting["orders"], name: string, first: number, random: Random): Order[] {
  return kinds.map((kind, index) => {
    const order = `${name}-${first + index}`;
    return {
      order,
      kind: kind.replace("+", "") as Kind,
      saved: random() < 0.5,
      lane: kind.endsWith("+") ? name : undefined,
    };
  });
}

function hitsOf({ told }: Ending): Partial<Record<FaultPoint | Place, number>> {
  return told.find((one) => one.what === "done")?.hits ?? {};
}

export const hasRecovered = ({ told }: Ending): boolean => told.some(({ what }) => what === "recovered");

export const pick = <T>(random: Random, list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
