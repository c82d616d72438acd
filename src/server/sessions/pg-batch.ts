import { Buffer } from "node:buffer";
import type { Connection } from "../driver.js";
import type { Statement } from "./session.js";

/** What `pg` lets a query of one's own do with its connection. */
interface Wire {
  parse(statement: { text: string }): void;
  bind(portal: { values: unknown[] }): void;
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
 * Several statements in one flush, with one Sync behind them: where one fails, those after it are not run. It is what `pg`
 * documents as a "submittable", an object that it hands its connection to, as it does with pg-cursor.
 */
export class PgBatch {
  /** How many statements went through. */
  done = 0;
  /** `pg` and what traces it replace this one, to hear of the end. */
  callback: (error: unknown) => void = () => {};
  readonly #statements: readonly { text: string; values: unknown[] }[];
  readonly #results: BatchResult[] = [];
  #rows: (string | null)[][] = [];

  constructor(statements: readonly Statement[]) {
    this.#statements = statements.map(({ text, values = [] }) => ({ text, values: values.map(onTheWire) }));
  }

  /** What tracing shows. */
  get text(): string {
    return this.#statements.map(({ text }) => text).join("; ");
  }

  /** @throws what the database or `pg` says; {@link done} tells of which statement */
  runOn(connection: Connection): Promise<readonly BatchResult[]> {
    return new Promise((resolve, reject) => {
      this.callback = (error) => (error ? reject(error) : resolve(this.#results));
      (connection.query as (batch: unknown) => unknown).call(connection, this);
    });
  }

  submit(wire: Wire): void {
    wire.stream.cork?.();
    try {
      for (const { text, values } of this.#statements) {
        wire.parse({ text });
        wire.bind({ values });
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
    this.callback(undefined);
  }

  handleRowDescription(): void {}
  handlePortalSuspended(): void {}
  handleEmptyQuery(): void {}
  handleCopyInResponse(): void {}
  handleCopyData(): void {}
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

function onTheWire(value: unknown): Buffer | string | null {
  if (value === null || value === undefined) return null;
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return String(value);
}
