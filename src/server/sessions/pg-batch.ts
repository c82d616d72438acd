import { Buffer } from "node:buffer";
import type { Connection } from "../driver.js";
import type { Statement } from "./session.js";

/** What `pg` lets a query of one's own do with its connection. */
interface Wire {
  parse(statement: { name?: string; text: string }): void;
  close(what: { type: "S"; name: string }): void;
  bind(portal: { statement?: string; values: unknown[] }): void;
  execute(portal: object): void;
  sync(): void;
  readonly stream: { cork?(): void; uncork?(): void };
}

const wireCalls = ["parse", "close", "bind", "execute", "sync"] as const;

/** What one statement gave: its rows, their values as text, and its command tag. */
export interface BatchResult {
  readonly rows: (string | null)[][];
  readonly command: string;
}

/**
 * Several statements in one flush, with one Sync behind them: where one fails, those after it are not run. It is what `pg`
 * documents as a "submittable", an object that it hands its connection to, as it does with pg-cursor.
 */
export interface PgBatch {
  /** How many statements went through. */
  readonly done: number;
  /** Whether `pg` let it through to the connection. */
  readonly sent: boolean;
  /** @throws what the database or `pg` says; {@link done} tells of which statement */
  run(): Promise<readonly BatchResult[]>;
}

type Batches = new (connection: Connection, statements: readonly Statement[], ahead: readonly Statement[]) => PgBatch;

/** A class of queries that `pg` has. */
interface QueryClass {
  readonly prototype: object;
}

/**
 * The names of what was prepared on a connection; none where nothing may be, as its session is not its own. A pooler that
 * hands sessions around tells its clients a pid that is no backend's.
 */
const prepared = new WeakMap<Connection, Set<string> | undefined>();

const whose: Statement = { text: "SELECT pg_backend_pid()" };

/** By the class of queries that the connection's own `pg` has: there may be several. */
const classes = new WeakMap<QueryClass, Batches>();

/** Of a `pg` that has been found to have changed. */
const refused = new WeakSet<QueryClass>();

/** @param ahead - to be prepared now, besides the statements themselves, where they can and are not yet */
export function pgBatch(
  connection: Connection,
  statements: readonly Statement[],
  ahead: readonly Statement[] = [],
): PgBatch {
  const query = queryClassOf(connection) as QueryClass;
  let Batch = classes.get(query);
  if (Batch === undefined) {
    Batch = batchesAmong(query);
    classes.set(query, Batch);
  }
  return new Batch(connection, statements, ahead);
}

/**
 * Where `pg` pipelines it takes its own queries alone, as others might keep a portal open behind which nothing can be
 * sent. These keep none, and are counted among them.
 */
function batchesAmong(query: QueryClass): Batches {
  const Base = function base(): void {} as unknown as new () => object;
  Base.prototype = query.prototype;

  return class Batch extends Base implements PgBatch {
    done = 0;
    sent = false;
    /** `pg` and what traces it replace this one, to hear of the end. */
    callback: (error: unknown) => void = () => {};
    readonly #connection: Connection;
    readonly #statements: readonly Statement[];
    readonly #ahead: readonly Statement[];
    readonly #asksWhose: boolean;
    readonly #fresh: string[] = [];
    readonly #results: BatchResult[] = [];
    #rows: (string | null)[][] = [];

    constructor(connection: Connection, statements: readonly Statement[], ahead: readonly Statement[]) {
      super();
      this.#connection = connection;
      this.#asksWhose = ahead.length > 0 && !prepared.has(connection);
      this.#statements = this.#asksWhose ? [...statements, whose] : statements;
      this.#ahead = ahead;
    }

    /** What tracing shows. */
    get text(): string {
      return this.#statements.map(({ text }) => text).join("; ");
    }

    run(): Promise<readonly BatchResult[]> {
      const connection = this.#connection;
      return new Promise((resolve, reject) => {
        this.callback = (error) => (error ? reject(error) : resolve(this.#results));
        (connection.query as (batch: unknown) => unknown).call(connection, this);
      });
    }

    submit(wire: Wire): void {
      this.sent = true;
      const known = prepared.get(this.#connection);
      // DISCARD and DEALLOCATE take all at once: unless this batch begins with a statement that must still be there, none of
      // them counts as prepared. The transaction's last batch relies on it.
      if (this.#ahead.length > 0 && !known?.has(this.#statements[0]?.name ?? "")) known?.clear();
      wire.stream.cork?.();
      try {
        for (const statement of this.#statements) {
          const values = statement.values?.map(onTheWire) ?? [];
          if (known && statement.name !== undefined) {
            this.#prepare(wire, statement, known);
            wire.bind({ statement: statement.name, values });
          } else {
            wire.parse({ text: statement.text });
            wire.bind({ values });
          }
          // Not described: what comes is text, and its order is known.
          wire.execute({});
        }
        if (known) for (const statement of this.#ahead) this.#prepare(wire, statement, known);
        wire.sync();
      } finally {
        wire.stream.uncork?.();
      }
    }

    #prepare(wire: Wire, { name, text }: Statement, known: ReadonlySet<string>): void {
      if (name === undefined || known.has(name) || this.#fresh.includes(name)) return;
      // Closed first: the program may have prepared something under this name.
      wire.close({ type: "S", name });
      wire.parse({ name, text });
      this.#fresh.push(name);
    }

    handleDataRow({ fields }: { fields: (string | null)[] }): void {
      this.#rows.push(fields);
    }

    handleCommandComplete({ text }: { text: string }): void {
      this.done += 1;
      this.#results.push({ rows: this.#rows, command: text });
      this.#rows = [];
    }

    handleError(error: unknown): void {
      this.callback(error);
    }

    handleReadyForQuery(): void {
      if (this.#asksWhose) {
        const { processID } = this.#connection as { processID?: unknown };
        const isOwn = String(processID) === this.#results.at(-1)?.rows[0]?.[0];
        prepared.set(this.#connection, isOwn ? new Set() : undefined);
      }
      for (const name of this.#fresh) prepared.get(this.#connection)?.add(name);
      this.callback(undefined);
    }

    handleRowDescription(): void {}
    handlePortalSuspended(): void {}
    handleEmptyQuery(): void {}
    handleCopyInResponse(): void {}
    handleCopyData(): void {}
  };
}

/** To be called when what was prepared is gone. */
export function forgetPrepared(connection: Connection): void {
  prepared.delete(connection);
}

/** To be called when what is prepared does not last. */
export function prepareNothing(connection: Connection): void {
  prepared.set(connection, undefined);
}

/** To be called when `pg` does not take batches after all, or not as they are made here. */
export function refuseBatches(connection: Connection): void {
  const query = queryClassOf(connection);
  if (query !== undefined) refused.add(query);
}

/**
 * Whether a connection is one of `pg` that takes batches. Not where somebody has put a `query` of his own before it, who
 * expects text.
 */
export function takesBatches(connection: Connection): boolean {
  const { connection: wire } = connection as { connection?: Partial<Wire> };
  const query = queryClassOf(connection);
  return (
    query !== undefined &&
    !refused.has(query) &&
    connection.query === Object.getPrototypeOf(connection).query &&
    wireCalls.every((name) => typeof wire?.[name] === "function")
  );
}

function queryClassOf(connection: Connection): QueryClass | undefined {
  const { Query } = connection.constructor as { Query?: QueryClass };
  return typeof Query === "function" ? Query : undefined;
}

function onTheWire(value: unknown): Buffer | string | null {
  if (value === null || value === undefined) return null;
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return String(value);
}
