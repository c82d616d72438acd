/** One connection per file and process, however many stores are open on it. */

import type { Clock } from "../../store.js";
import { loadDriver, type SqliteDatabase, type SqliteDriverOption } from "./driver.js";
import { asStoreError, isBusy } from "./failure.js";
import { Original } from "./original.js";
import { preparePlace } from "./place.js";
import { Queue, type Work } from "./queue.js";
import { prepare } from "./schema.js";
import { Transaction } from "./transaction.js";

/** How often a busy file is tried again while it is opened. */
const TRIES = 200;

/** An open file, shared. */
export interface Connection {
  /** The file's real path. */
  readonly path: string;
  /** Has a verb done, in the order in which they are called. */
  run<T>(work: Work<T>): Promise<T>;
  /** Resolves when nothing is left to do. */
  idle(): Promise<void>;
  /** Gives up this share, of which nothing is under way any more; the last one to do so closes the file. */
  release(): Promise<void>;
}

interface Opened {
  readonly db: SqliteDatabase;
  readonly queue: Queue;
  readonly original: Original;
}

interface Shared {
  readonly opened: Promise<Opened>;
  shares: number;
}

/** Two copies of the package share it, as long as they agree on what it holds. */
function registry(): Map<string, Shared> {
  const realm = globalThis as { [key: symbol]: unknown };
  const symbol = Symbol.for("samekey.sqlite.1");
  realm[symbol] ??= new Map<string, Shared>();
  return realm[symbol] as Map<string, Shared>;
}

export async function connect(path: string, option: SqliteDriverOption | undefined, clock: Clock): Promise<Connection> {
  const real = await preparePlace(path);
  const shared = registry().get(real) ?? { opened: openFile(real, option, clock), shares: 0 };
  registry().set(real, shared);
  shared.shares += 1;
  try {
    return share(real, shared, await shared.opened);
  } catch (error) {
    await release(real, shared);
    throw error;
  }
}

function share(path: string, shared: Shared, { queue, original }: Opened): Connection {
  const add = <T>(work: Work<T>): Promise<T> => queue.add(work);
  return {
    path,
    run(work) {
      const taken = original.taken(add, work.writes);
      return taken ? taken.then(() => queue.add(work)) : queue.add(work);
    },
    async idle() {
      await original.idle();
      await queue.idle();
    },
    release: () => release(path, shared),
  };
}

async function release(path: string, shared: Shared): Promise<void> {
  shared.shares -= 1;
  if (shared.shares > 0) return;
  if (registry().get(path) === shared) registry().delete(path);
  const open = await shared.opened.catch(() => undefined);
  open?.db.close();
}

async function openFile(path: string, option: SqliteDriverOption | undefined, clock: Clock): Promise<Opened> {
  const driver = await loadDriver(option);
  for (let left = TRIES; ; left -= 1) {
    let db: SqliteDatabase | undefined;
    try {
      db = driver(path);
      prepare(db, path);
      const tx = new Transaction(db);
      const original = new Original(path, clock);
      original.look(tx);
      return { db, original, queue: new Queue(db, tx, path, clock, (tx) => original.renew(tx)) };
    } catch (error) {
      db?.close();
      if (!isBusy(error) || left === 0) throw asStoreError(error, path);
    }
    await clock.sleep(25 * (0.5 + Math.random()));
  }
}
