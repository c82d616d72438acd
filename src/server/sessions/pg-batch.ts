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

/** What one statement gave: its rows, their values as text, and its command tag. */
export interface BatchResult {
  readonly rows: (string | null)[][];
  readonly command: string;
}

/**
 * The names of what was prepared on a connection; none where nothing may be, as its session is not its own. A pooler that
 * hands sessions around tells its clients a pid that is no backend's.
 */
const prepared = new WeakMap<Connection, Set<string> | undefined>();

const whose: Statement = { text: "SELECT pg_backend_pid()" };

/**
 * Several statements in one flush, with one Sync behind them: where one fails, those after it are not run. It is what `pg`
 * documents as a "submittable", an object that it hands its connection to, as it does with pg-cursor.
 */
export class PgBatch {
  /** How many statements went through. */
  done = 0;
  /** `pg` and what traces it replace this one, to hear of the end. */
  callback: (error: unknown) => void = () => {};
  readonly #connection: Connection;
  readonly #statements: readonly (Statement & { values: unknown[] })[];
  readonly #unprepared: readonly Named[];
  readonly #asksWhose: boolean;
  readonly #results: BatchResult[] = [];
  #rows: (string | null)[][] = [];

  /** @param prepare - to be prepared now, all together, where they can and are not yet */
  constructor(connection: Connection, statements: readonly Statement[], prepare: readonly Statement[] = []) {
    this.#connection = connection;
    const known = prepared.get(connection);
    this.#unprepared = known ? prepare.filter(isNamed).filter(({ name }) => !known.has(name)) : [];
    this.#asksWhose = prepare.length > 0 && !prepared.has(connection);
    this.#statements = (this.#asksWhose ? [...statements, whose] : statements).map(({ name, text, values }) => {
      const usable = name !== undefined && (known?.has(name) || this.#unprepared.some((one) => one.name === name));
      return { text, values: values?.map(onTheWire) ?? [], ...(usable && { name }) };
    });
  }

  /** What tracing shows. */
  get text(): string {
    return this.#statements.map(({ text }) => text).join("; ");
  }

  /** @throws what the database or `pg` says; {@link done} tells of which statement */
  run(): Promise<readonly BatchResult[]> {
    const connection = this.#connection;
    return new Promise((resolve, reject) => {
      this.callback = (error) => (error ? reject(error) : resolve(this.#results));
      (connection.query as (batch: unknown) => unknown).call(connection, this);
    });
  }

  submit(wire: Wire): void {
    wire.stream.cork?.();
    try {
      let unprepared = this.#unprepared;
      for (const { name, text, values } of this.#statements) {
        if (name === undefined) wire.parse({ text });
        else {
          // Closed first: the program may have prepared something under their names.
          for (const one of unprepared) wire.close({ type: "S", name: one.name });
          for (const one of unprepared) wire.parse(one);
          unprepared = [];
        }
        wire.bind(name === undefined ? { values } : { statement: name, values });
        // Not described: what comes is text, and its order is known.
        wire.execute({});
      }
      wire.sync();
    } finally {
      wire.stream.uncork?.();
    }
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
    for (const { name } of this.#unprepared) prepared.get(this.#connection)?.add(name);
    this.callback(undefined);
  }

  handleRowDescription(): void {}
  handlePortalSuspended(): void {}
  handleEmptyQuery(): void {}
  handleCopyInResponse(): void {}
  handleCopyData(): void {}
}

/** To be called when something that was prepared is gone. */
export function forgetPrepared(connection: Connection): void {
  prepared.delete(connection);
}

/**
 * Whether a connection is one of `pg` that takes batches. Not where it pipelines, which rules out what is not its own, and
 * not where somebody has put a `query` of his own before it, who expects text.
 */
export function takesBatches(connection: Connection): boolean {
  const { connection: wire, pipeline } = connection as { connection?: Partial<Wire>; pipeline?: boolean };
  return (
    !pipeline &&
    typeof wire?.parse === "function" &&
    typeof wire.sync === "function" &&
    connection.query === Object.getPrototypeOf(connection).query
  );
}

type Named = Statement & { readonly name: string };

const isNamed = (statement: Statement): statement is Named => statement.name !== undefined;

function onTheWire(value: unknown): Buffer | string | null {
  if (value === null || value === undefined) return null;
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return String(value);
}
