/**
 * Whether the file is still the one that it was. A copy does not know what the original has done since: what stands there as
 * never sent may have been sent under its key, so it must not get another.
 *
 * The file says which file it is. A copy at another place, or one that was renamed into this one, is told by that. One that
 * was written over the file is told by a token, which stands in the file and beside it, and is another one each minute.
 */

import { randomUUID } from "node:crypto";
import process from "node:process";
import { presumedSent } from "../../core/presumed-sent.js";
import { isUncertain, OPEN_STATES, type OperationRecord } from "../../core/record.js";
import type { Clock } from "../../store.js";
import { isBusy } from "./failure.js";
import { identityOf, isSameFile, readToken, writeToken } from "./identity.js";
import { endWalk, readSome, startWalk, walkOn } from "./page.js";
import type { Work } from "./queue.js";
import { ORIGINAL_TABLE } from "./schema.js";
import type { Transaction } from "./transaction.js";

/** For how long a token is good, in milliseconds. */
const LIFE = 60_000;
/** How many records a step looks for; it reads fewer when they are large. */
const STEP = 50;

interface Said {
  readonly file: string;
  readonly token: string;
  /** The token before: a crash may have come before the new one stood beside the file. */
  readonly previous: string;
  /** What stood beside the file then. */
  readonly beside: string;
  readonly at: number;
}

/** The file of one connection. */
export class Original {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #file: string;
  #isKnown = false;
  #renewedAt: number | undefined;
  #treating: Promise<void> | undefined;

  constructor(path: string, clock: Clock) {
    this.#path = path;
    this.#clock = clock;
    this.#file = identityOf(path);
  }

  /** Looks whether it is a copy; nothing is changed. */
  look(tx: Transaction): void {
    try {
      this.#isKnown = !this.#isCopy(tx);
    } catch (error) {
      // What is damaged is reported when it is met.
      if (isBusy(error)) throw error;
    }
  }

  /**
   * Resolves when a copy is taken for one, in steps; at once if it is none. To be awaited by what may write, and by what
   * comes behind that. If it fails, the next one tries again.
   */
  taken(add: <T>(work: Work<T>) => Promise<T>, writes: boolean): Promise<void> | undefined {
    if (this.#isKnown) return undefined;
    if (!this.#treating && writes) {
      this.#treating = this.#take(add).finally(() => {
        this.#treating = undefined;
      });
    }
    return this.#treating;
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    await this.#treating?.catch(() => {});
  }

  /**
   * Puts another token into the file once the last one is a minute old.
   *
   * @returns what has to be called when that is committed
   */
  renew(tx: Transaction): (() => void) | undefined {
    const now = this.#clock.now();
    if (!this.#isKnown || isFresh(this.#renewedAt, now)) return undefined;
    const said = readSaid(tx);
    // Another process may have done it.
    if (said && isFresh(said.at, now)) {
      this.#renewedAt = said.at;
      return undefined;
    }
    return this.#say(tx, said, now);
  }

  #isCopy(tx: Transaction): boolean {
    const said = readSaid(tx);
    if (!said) return tx.get("select 1 from operations where state in ('pending', 'blocked') limit 1") !== undefined;
    const beside = readToken(this.#path);
    // A file that was renamed leaves behind what stood beside it.
    const isOurs = beside === "" || [said.token, said.previous, said.beside].includes(beside);
    return !isOurs || !isSameFile(said.file, this.#file);
  }

  async #take(add: <T>(work: Work<T>) => Promise<T>): Promise<void> {
    let count = 0;
    let committed = () => {};
    for (let after: number | undefined = 0; after !== undefined; ) {
      const from: number = after;
      const step: Step = await add({ writes: true, weight: STEP, run: (tx) => this.#step(tx, from) });
      count += step.changed;
      committed = step.committed ?? committed;
      after = step.after;
    }
    committed();
    this.#isKnown = true;
    if (count > 0) tell(this.#path, count);
  }

  #step(tx: Transaction, after: number): Step {
    // Another process may have done it.
    if (!this.#isCopy(tx)) return { changed: 0 };
    const seqs = endWalk(walkOn(tx, startWalk({ states: OPEN_STATES, after, limit: STEP })));
    if (seqs.length === 0) return { changed: 0, committed: this.#say(tx, readSaid(tx), this.#clock.now()) };
    const records = readSome(tx, seqs) as OperationRecord[];
    const unsure = records.filter((record) => !isUncertain(record));
    for (const record of unsure) tx.replace(record, presumedSent(record));
    return { changed: unsure.length, after: seqs[records.length - 1] };
  }

  #say(tx: Transaction, said: Said | undefined, now: number): () => void {
    const token = randomUUID();
    tx.write(ORIGINAL_TABLE, []);
    tx.write("insert or replace into original values (1, ?, ?, ?, ?, ?)", [
      this.#file,
      token,
      said?.token ?? "",
      readToken(this.#path),
      now,
    ]);
    return () => {
      this.#renewedAt = now;
      try {
        writeToken(this.#path, token);
      } catch {
        // What is committed stays so; and what stands beside the file is as good as the new one, until that is written.
      }
    };
  }
}

interface Step {
  readonly changed: number;
  /** Where the next one goes on; absent when this was the last. */
  readonly after?: number | undefined;
  readonly committed?: (() => void) | undefined;
}

const isFresh = (at: number | undefined, now: number): boolean => at !== undefined && Math.abs(now - at) < LIFE;

function readSaid(tx: Transaction): Said | undefined {
  if (!tx.get("select 1 from sqlite_schema where name = 'original'")) return undefined;
  return tx.get("select file, token, previous, beside, at from original") as Said | undefined;
}

function tell(path: string, count: number): void {
  process.emitWarning(
    `${path} is a copy, or was put back from one. ${count} operations of it that were not sent yet count as sent since their ` +
      "keys were made, since the original may have sent them: they are sent under the same keys, and not once these are too old",
    { code: "SAMEKEY_STORE_COPIED" },
  );
}
