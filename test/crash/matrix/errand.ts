/** What the matrix and the process that it kills have in common. */

import type { FaultPoint } from "../../../src/core/fault-point.js";
import type { State } from "../../../src/core/record.js";

/** What is to become of an order. */
export type Kind =
  | "plain"
  | "refused"
  /** The server is away at first. */
  | "flaky"
  /** Fills many packets. */
  | "large"
  /** Takes so long that its lease is renewed. */
  | "slow"
  /** Withdrawn as soon as it is recorded. */
  | "canceled"
  /** Carried out, and never answered: someone looks at the server and reconciles it, */
  | "reconciled"
  /** or gives it up, */
  | "discarded"
  /** or the operation's own hook looks. */
  | "asked";

export interface Order {
  readonly order: string;
  readonly kind: Kind;
  /** Whether it is saved first, and sent then. */
  readonly saved: boolean;
  readonly lane?: string | undefined;
}

/** How a life finishes what the ones before it left. */
export type Recovery = "resume" | "start" | "ask again";

/** The stores that processes live on: SQLite or Postgres, through two drivers each. */
export const STORES = ["better-sqlite3", "node:sqlite", "postgres", "postgres.js"] as const;

export type StoreName = (typeof STORES)[number];

export const isPostgres = (store: StoreName): boolean => store.startsWith("postgres");

/** What one life is to do. */
export interface Errand {
  readonly url: string;
  /** Names the store: a file, or in Postgres a schema. */
  readonly path: string;
  /** Where it ends, and at which arrival there. */
  readonly end?: { readonly point: FaultPoint; readonly hit: number } | undefined;
  readonly recovery: Recovery;
  /** Since `from`, its clock goes so many times as fast. */
  readonly clock: { readonly from: number; readonly speed: number };
  /** Whether what is settled is dropped at once. */
  readonly prunes: boolean;
  /** Orders of earlier lives, finished first. */
  readonly left: readonly Order[];
  readonly orders: readonly Order[];
  /** Orders that succeeded in earlier lives, asked for once more: nothing is sent. */
  readonly again: readonly Order[];
}

/** What one life of a process is to do. */
export interface ProcessErrand extends Errand {
  readonly store: StoreName;
  /** The connection string, where that is a Postgres. */
  readonly database?: string | undefined;
  /** Planted, for the tests of the tests: how little is synced where everything should be. */
  readonly synced?: "normal" | "off" | undefined;
}

/** What it tells, each before it goes on. */
export type Told =
  | { readonly what: "saved"; readonly order: string; readonly key: string }
  | {
      readonly what: "outcome" | "hook";
      readonly order: string;
      readonly key: string;
      readonly state: string;
    }
  | { readonly what: "alive" | "recovered" }
  | {
      readonly what: "done";
      /** How often each point was reached. */
      readonly hits: Readonly<Partial<Record<FaultPoint, number>>>;
      readonly counts: Readonly<Partial<Record<State, number>>>;
    };
