import { needsSync, type OperationRecord } from "../../../src/core/record.js";
import { StoreError } from "../../../src/errors.js";
import { MemoryTables } from "../../../src/stores/memory/tables.js";

/** One change of one record. */
export interface Written {
  readonly id: string;
  readonly before: OperationRecord | undefined;
  readonly after: OperationRecord | undefined;
  readonly strict: boolean;
}

/**
 * What several connections share: what is committed, and what of it has reached the platter. A transaction without
 * anything strict in it is committed and not synced; a later strict one takes it along.
 */
export class Disk {
  #committed = new MemoryTables();
  #synced = this.#committed;
  /** Committed since, oldest first. */
  readonly #unsynced: MemoryTables[] = [];
  #lock: Promise<void> = Promise.resolve();
  #failures = 0;

  get committed(): MemoryTables {
    return this.#committed;
  }

  /** What would be left after a power failure, at worst. */
  get synced(): MemoryTables {
    return this.#synced;
  }

  /** How often the power has failed: what began before is not there any more. */
  get failures(): number {
    return this.#failures;
  }

  /** Waits for its turn to write; the answer ends it. */
  async lock(): Promise<() => void> {
    const before = this.#lock;
    let release = (): void => {};
    this.#lock = new Promise((resolve) => {
      release = resolve;
    });
    await before;
    return release;
  }

  commit(tables: MemoryTables, strict: boolean): void {
    this.#committed = tables;
    if (strict) {
      this.#synced = tables;
      this.#unsynced.length = 0;
    } else {
      this.#unsynced.push(tables);
    }
  }

  /**
   * Loses what was not synced, or some of it: what was committed later never survives what was committed before.
   *
   * @param survivors - a number from 0 to 1: how much of it is left
   */
  fail(survivors: number): void {
    const images = [this.#synced, ...this.#unsynced];
    this.#committed = images[Math.min(images.length - 1, Math.floor(survivors * images.length))] ?? this.#synced;
    this.#synced = this.#committed;
    this.#unsynced.length = 0;
    this.#failures += 1;
    this.#lock = Promise.resolve();
  }
}

export function recordsOf(tables: MemoryTables): readonly OperationRecord[] {
  return tables.page({ limit: Number.POSITIVE_INFINITY });
}

/** What became of each record between two states. */
export function changesBetween(before: MemoryTables, after: MemoryTables): Written[] {
  const earlier = new Map(recordsOf(before).map((record) => [record.id, record]));
  const changes: Written[] = [];
  for (const record of recordsOf(after)) {
    const old = earlier.get(record.id);
    if (old !== record) {
      changes.push({ id: record.id, before: old, after: record, strict: needsSync(old, record) });
    }
    earlier.delete(record.id);
  }
  for (const [id, gone] of earlier) changes.push({ id, before: gone, after: undefined, strict: false });
  return changes;
}

export const faults = {
  failed: () => new StoreError("unavailable", { detail: "the disk does not answer" }),
  full: () => new StoreError("store_full", { detail: "the disk is full" }),
  untold: (id: string | undefined) => new StoreError("not_durable", { detail: "nobody knows", id }),
  stalled: (id: string | undefined) => new StoreError("stalled", { detail: "the disk hangs", id }),
};
