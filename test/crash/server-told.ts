/** What the test and the server under test have in common. */

/** Where a request can be made to stand still, in the order in which it gets there. */
export type Point =
  | "arrived"
  | "claimed"
  | "halfway"
  /** In a statement that takes for ever. */
  | "working"
  | "worked"
  | "committing"
  | "committed"
  | "replying";

/** The header that says where. No part of the fingerprint: a retry without it is the same request. */
export const stillHeader = "stand-still";

export interface ServerOptions {
  readonly databaseUrl: string;
  /** @defaultValue 10 */
  readonly connections?: number | undefined;
  /** ms. @defaultValue 60_000 */
  readonly handlerTimeout?: number | undefined;
  /** How it sends COMMIT. @defaultValue "simple" */
  readonly protocol?: "simple" | "extended" | undefined;
}

/** What the server tells. */
export type ServerTold =
  | { readonly what: "listening"; readonly url: string }
  /** The request with this key stands still there, until it is told to go on. */
  | { readonly what: "at"; readonly point: Point; readonly key: string }
  /** The handler of this key began; it is told for each time it runs. */
  | { readonly what: "ran"; readonly key: string }
  /** The handler's signal aborted. */
  | { readonly what: "aborted"; readonly key: string };

/** What the server is told: let everything go on that stands still. */
export type GoOn = "go on";

/** What is asked for, at `POST /<name of the work>`. */
export interface Transfer {
  readonly src: number;
  readonly dst: number;
  readonly amount: number;
}
