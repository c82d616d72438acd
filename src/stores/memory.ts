/** The store for tests, and for those who give up durability by name: it lives as long as the object does. */

import type { NewRecord, OperationRecord } from "../core/record.js";
import { StoreError } from "../errors.js";
import type { Claimed, ClaimQuery, Counts, Inserted, InsertLimits, PageFilter, PruneQuery, Store } from "../store.js";
import { MemoryTables } from "./memory/tables.js";

/**
 * A store in memory. Nothing in it survives the process; what it holds survives `close()` and another `open()` of the
 * same object.
 */
export function memoryStore(): Store {
  return new MemoryStore();
}

class MemoryStore implements Store {
  readonly durable = false;
  readonly #tables = new MemoryTables();
  #isOpen = false;

  async open(): Promise<void> {
    this.#isOpen = true;
  }

  async close(): Promise<void> {
    this.#isOpen = false;
  }

  async insert(record: NewRecord, limits?: InsertLimits): Promise<Inserted> {
    return this.#open().insert(record, limits);
  }

  async claim(query: ClaimQuery, apply: (record: OperationRecord) => OperationRecord): Promise<Claimed> {
    return this.#open().claim(query, apply);
  }

  async update(
    id: string,
    apply: (record: OperationRecord) => OperationRecord | undefined,
  ): Promise<OperationRecord | undefined> {
    return this.#open().update(id, apply);
  }

  async get(id: string): Promise<OperationRecord | undefined> {
    return this.#open().get(id);
  }

  async find(owner: string, name: string, intent: string): Promise<OperationRecord | undefined> {
    return this.#open().find(owner, name, intent);
  }

  async head(owner: string, lane: string): Promise<OperationRecord | undefined> {
    return this.#open().head(owner, lane);
  }

  async page(filter: PageFilter): Promise<readonly OperationRecord[]> {
    return this.#open().page(filter);
  }

  async prunable(query: PruneQuery): Promise<readonly OperationRecord[]> {
    return this.#open().prunable(query);
  }

  async counts(owner?: string): Promise<Counts> {
    return this.#open().counts(owner);
  }

  async relieve(isDead: (holder: string) => boolean): Promise<number> {
    return this.#open().relieve(isDead);
  }

  #open(): MemoryTables {
    if (this.#isOpen) return this.#tables;
    throw new StoreError("unavailable", { detail: "the memory store is not open" });
  }
}
