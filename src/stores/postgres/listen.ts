/** What processes tell each other: by NOTIFY, to whoever has a connection that LISTENs. */

import { createHash, randomUUID } from "node:crypto";
import type { Channel, Clock, Message } from "../../store.js";
import type { Tables } from "./schema.js";

/** A connection of its own that is told of notifications. `Client` of pg is one. */
export interface PostgresListenClient {
  connect(): Promise<unknown>;
  query(text: string): Promise<unknown>;
  end(): Promise<unknown>;
  on(event: "notification", listener: (notice: { readonly payload?: string | undefined }) => void): unknown;
  on(event: "error" | "end", listener: () => void): unknown;
  /** Where there is one, the connection does not keep the process alive. */
  unref?(): unknown;
}

/** What `postgres()` of postgres.js answers with, as far as it listens. */
export interface PostgresJsListener {
  listen(channel: string, receive: (payload: string) => void): Promise<{ unlisten(): Promise<unknown> }>;
}

/** Makes a client that is not connected yet, each time that one is needed; or postgres.js, which does all of it itself. */
export type PostgresListener = (() => PostgresListenClient) | PostgresJsListener;

/** Bytes of one notification. Postgres takes less than 8000. */
const MOST = 7_000;
/** The first and the longest pause before a lost connection is made anew, in milliseconds. */
const PAUSE = 500;
const PAUSE_CAP = 30_000;

/** The channel of one sdk in one schema; a name has at most 63 bytes. */
export function channelOf({ schema, sdk }: Tables): string {
  const name = createHash("sha256")
    .update(JSON.stringify([schema, sdk]))
    .digest("hex");
  return `samekey_${name.slice(0, 40)}`;
}

/** What one notification carries. */
interface Parcel {
  /** Who need not be told. */
  readonly from?: string | undefined;
  readonly news: readonly Message[];
}

/** The texts of notifications that carry these messages. */
export function parcels(news: readonly Message[], from?: string): string[] {
  const texts: string[] = [];
  let some: Message[] = [];
  let size = 0;
  for (const message of news) {
    const bytes = JSON.stringify(message).length * 3;
    if (some.length > 0 && size + bytes > MOST) {
      texts.push(JSON.stringify({ from, news: some } satisfies Parcel));
      some = [];
      size = 0;
    }
    some.push(message);
    size += bytes;
  }
  if (some.length > 0) texts.push(JSON.stringify({ from, news: some } satisfies Parcel));
  return texts;
}

/** A line to the other processes, which may be deaf for a while: they look by themselves, now and then. */
export class Line implements Channel {
  readonly #id = randomUUID();
  readonly #channel: string;
  readonly #clock: Clock;
  readonly #receive: (message: Message) => void;
  readonly #send: (texts: readonly string[]) => Promise<unknown>;
  readonly #over = new AbortController();
  #news: Message[] = [];
  #stop: () => unknown = () => {};

  constructor(
    channel: string,
    listener: PostgresListener | undefined,
    clock: Clock,
    receive: (message: Message) => void,
    send: (texts: readonly string[]) => Promise<unknown>,
  ) {
    this.#channel = channel;
    this.#clock = clock;
    this.#receive = receive;
    this.#send = send;
    if (listener) void this.#listen(listener);
  }

  post(message: Message): void {
    // That someone works on it helps nobody; what follows from his work does.
    if (message.type === "changed" && message.holder !== undefined) return;
    if (this.#news.push(message) > 1) return;
    queueMicrotask(() => {
      const texts = parcels(this.#news, this.#id);
      this.#news = [];
      this.#send(texts).catch(() => {});
    });
  }

  close(): void {
    this.#over.abort();
    this.#stop();
  }

  async #listen(listener: PostgresListener): Promise<void> {
    for (let pause = PAUSE; !this.#over.signal.aborted; pause = Math.min(pause * 2, PAUSE_CAP)) {
      try {
        if ("listen" in listener) return await this.#subscribe(listener);
        await this.#hear(listener(), () => {
          pause = PAUSE;
        });
      } catch {
        // The next try tells.
      }
      await this.#clock.sleep(pause, this.#over.signal, true).catch(() => {});
    }
  }

  async #subscribe(sql: PostgresJsListener): Promise<void> {
    const { unlisten } = await sql.listen(this.#channel, (payload) => this.#open(payload));
    const stop = () => unlisten().catch(() => {});
    if (this.#over.signal.aborted) await stop();
    else this.#stop = stop;
  }

  /** Resolves when the connection is lost. */
  async #hear(client: PostgresListenClient, onConnect: () => void): Promise<void> {
    const lost = new Promise<void>((resolve) => {
      client.on("error", resolve);
      client.on("end", resolve);
      this.#over.signal.addEventListener("abort", () => resolve(), { once: true });
    });
    try {
      client.on("notification", ({ payload }) => this.#open(payload));
      await client.connect();
      client.unref?.();
      await client.query(`listen ${this.#channel}`);
      onConnect();
      await lost;
    } finally {
      await client.end().catch(() => {});
    }
  }

  #open(payload: string | undefined): void {
    let parcel: Parcel;
    try {
      parcel = JSON.parse(payload ?? "");
    } catch {
      // Anyone can notify a channel.
      return;
    }
    if (parcel?.from === this.#id || !Array.isArray(parcel?.news)) return;
    for (const message of parcel.news) this.#receive(message);
  }
}
