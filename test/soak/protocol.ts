/** What a worker tells. */
export type WorkerTold =
  /** One of its lines has nothing to do. */
  | { readonly what: "want" }
  | { readonly what: "settled"; readonly order: number; readonly state: string }
  /** An order could not be recorded, and nothing was sent for it. */
  | { readonly what: "unsaved"; readonly code: string }
  /** In bytes. */
  | { readonly what: "memory"; readonly rss: number; readonly heap: number }
  | { readonly what: "left"; readonly counts: Readonly<Record<string, number>> };

/** What a worker is told: the next order, or that there is none for this line. */
export type WorkerAsked = { readonly order: number | undefined };

/** What the server tells: where it listens, and at the end what it saw. */
export type ServerTold = { readonly what: "listening"; readonly url: string } | ({ readonly what: "saw" } & Saw);

/** What the server saw. */
export interface Saw {
  readonly requests: number;
  readonly replayed: number;
  /** 409: another request with the same key was still at work. */
  readonly busy: number;
  readonly faults: Readonly<Record<string, number>>;
  /** Orders without an effect. */
  readonly lost: number;
  /** Orders with more than one. */
  readonly duplicated: number;
  /** Orders for which more than one key came. */
  readonly rekeyed: number;
  /** Requests whose key had come with another body. */
  readonly changed: number;
}
