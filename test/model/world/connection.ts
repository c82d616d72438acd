import type { NewRecord, OperationRecord } from "../../../src/core/record.js";
import { StoreError } from "../../../src/errors.js";
import type {
  Claimed,
  ClaimQuery,
  Clock,
  Counts,
  Inserted,
  InsertLimits,
  PageFilter,
  PruneQuery,
  Store,
} from "../../../src/store.js";
import type { MemoryTables } from "../../../src/stores/memory/tables.js";
import { SharedClock } from "../../../src/stores/shared-clock.js";
import { changesBetween, type Disk, faults, type Written } from "./disk.js";

/** What becomes of one transaction. */
export type Fate = "ok" | "failed" | "full" | "committedUntold" | "lostUntold" | "stalled";

/** What a connection needs from the world around it. */
export interface ConnectionParts {
  readonly disk: Disk;
  pause(ms: number): Promise<void>;
  /** How long the next transaction takes, in milliseconds. */
  latency(): number;
  fate(): Fate;
  /** How long the store hangs, before and after its caller gives up, in milliseconds; and whether it commits then. */
  stall(): { readonly before: number; readonly after: number; readonly commits: boolean };
  /** Whether the one who uses it still lives. */
  alive(): boolean;
  /** Resolves while the one who uses it runs. */
  awake(): Promise<void>;
  /** Told at the moment of the commit. */
  onCommit(changes: readonly Written[], strict: boolean): void;
  onFault(fate: Fate): void;
  /** The store's own clock, where it tells the time. */
  time?(): number;
  /** Told when that was heard. */
  onTime?(): void;
}

interface Job {
  readonly id: string | undefined;
  readonly writes: boolean;
  readonly run: (tables: MemoryTables) => unknown;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

type Result = { readonly value: unknown } | { readonly error: unknown };

/** A store on a {@link Disk}: group commits, strict where `needsSync` says so and relaxed where not. */
export class Connection implements Store {
  readonly durable = true;
  readonly #parts: ConnectionParts;
  #queue: Job[] = [];
  #flushing = false;
  #isOpen = false;
  readonly clock?: (own: Clock) => Clock;
  #clock: SharedClock | undefined;

  constructor(parts: ConnectionParts) {
    this.#parts = parts;
    if (!parts.time) return;
    this.clock = (own) => {
      this.#clock = new SharedClock(own);
      return this.#clock;
    };
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** What who uses it takes for the time; nothing where the store tells none. */
  get now(): number | undefined {
    return this.#clock?.now();
  }

  async #pause(): Promise<void> {
    const { pause, latency, awake, time, onTime } = this.#parts;
    const heard = this.#clock?.asked();
    await pause(latency());
    const told = time?.();
    await awake();
    if (told !== undefined) heard?.(told);
    onTime?.();
  }

  async open(): Promise<void> {
    if (this.#isOpen) return;
    await this.#pause();
    const fate = this.#parts.fate();
    if (fate !== "ok") {
      this.#parts.onFault(fate);
      throw faults.failed();
    }
    this.#isOpen = true;
    this.#parts.onTime?.();
  }

  async close(): Promise<void> {
    await this.#submit(undefined, false, () => undefined).catch(() => {});
    this.#isOpen = false;
  }

  insert(record: NewRecord, limits?: InsertLimits): Promise<Inserted> {
    return this.#submit(record.id, true, (tables) => tables.insert(record, limits));
  }

  claim(query: ClaimQuery, apply: (record: OperationRecord) => OperationRecord): Promise<Claimed> {
    return this.#submit(undefined, true, (tables) => tables.claim(query, apply));
  }

  update(
    id: string,
    apply: (record: OperationRecord) => OperationRecord | undefined,
  ): Promise<OperationRecord | undefined> {
    return this.#submit(id, true, (tables) => tables.update(id, apply));
  }

  get(id: string): Promise<OperationRecord | undefined> {
    return this.#submit(id, false, (tables) => tables.get(id));
  }

  find(owner: string, name: string, intent: string): Promise<OperationRecord | undefined> {
    return this.#submit(undefined, false, (tables) => tables.find(owner, name, intent));
  }

  head(owner: string, lane: string): Promise<OperationRecord | undefined> {
    return this.#submit(undefined, false, (tables) => tables.head(owner, lane));
  }

  page(filter: PageFilter): Promise<readonly OperationRecord[]> {
    return this.#submit(undefined, false, (tables) => tables.page(filter));
  }

  prunable(query: PruneQuery): Promise<readonly OperationRecord[]> {
    return this.#submit(undefined, false, (tables) => tables.prunable(query));
  }

  counts(owner?: string): Promise<Counts> {
    return this.#submit(undefined, false, (tables) => tables.counts(owner));
  }

  relieve(isDead: (holder: string) => boolean): Promise<number> {
    return this.#submit(undefined, true, (tables) => tables.relieve(isDead));
  }

  #submit<T>(id: string | undefined, writes: boolean, run: (tables: MemoryTables) => T): Promise<T> {
    if (!this.#isOpen) return Promise.reject(new StoreError("unavailable", { detail: "the store is not open" }));
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ id, writes, run, resolve, reject });
      if (!this.#flushing) void this.#flush();
    });
  }

  async #flush(): Promise<void> {
    this.#flushing = true;
    while (this.#queue.length > 0) {
      await this.#pause();
      const jobs = this.#queue;
      this.#queue = [];
      await this.#transact(jobs);
    }
    this.#flushing = false;
  }

  async #transact(jobs: readonly Job[]): Promise<void> {
    const { disk, alive, fate, onFault } = this.#parts;
    const release = jobs.some(({ writes }) => writes) ? await disk.lock() : () => {};
    const { failures } = disk;
    // Without an answer to anyone.
    if (!alive()) return release();
    const what = fate();
    if (what !== "ok") onFault(what);
    if (what === "failed" || what === "full") {
      release();
      for (const { reject } of jobs) reject(faults[what]());
      return;
    }
    const changes: Written[] = [];
    const tables = disk.committed.copy();
    const results = jobs.map((job) => this.#run(job, tables, changes));
    const commit = (): void => {
      if (disk.failures !== failures || changes.length === 0) return;
      const strict = changes.some((change) => change.strict);
      disk.commit(tables, strict);
      this.#parts.onCommit(changes, strict);
    };
    if (what === "stalled") {
      await this.#stall(jobs, commit);
    } else {
      if (what !== "lostUntold") commit();
      for (const [index, job] of jobs.entries()) {
        if (what === "ok") answer(job, results[index] as Result);
        else job.reject(faults.untold(job.id));
      }
    }
    release();
  }

  /** One that throws changes nothing, and harms nobody else in the transaction. */
  #run({ run, writes }: Job, tables: MemoryTables, changes: Written[]): Result {
    const before = writes ? tables.copy() : tables;
    try {
      const value = run(tables);
      if (writes) changes.push(...changesBetween(before, tables));
      return { value };
    } catch (error) {
      return { error };
    }
  }

  /** The callers are told that it takes too long; the transaction ends later, in one way or the other. */
  async #stall(jobs: readonly Job[], commit: () => void): Promise<void> {
    const { before, after, commits } = this.#parts.stall();
    await this.#parts.pause(before);
    for (const { id, reject } of jobs) reject(faults.stalled(id));
    await this.#parts.pause(after);
    if (commits) commit();
  }
}

function answer(job: Job, result: Result): void {
  if ("error" in result) job.reject(result.error);
  else job.resolve(result.value as never);
}
