/** What the matrix and the process that it kills have in common. */

import type { FaultPoint } from "../../../src/core/fault-point.js";
import type { State } from "../../../src/core/record.js";

/** How the server answers an order: done, refused, away at first; `large` fills many packets. */
export type Kind = "plain" | "refused" | "flaky" | "large";

export interface Order {
  readonly order: string;
  readonly kind: Kind;
  /** Whether it is saved first, and sent then. */
  readonly saved: boolean;
}

/** How a life finishes what the ones before it left. */
export type Recovery = "resume" | "start" | "ask again";

/** What one life of the process is to do. */
export interface Errand {
  readonly url: string;
  readonly path: string;
  readonly driver: "better-sqlite3" | "node:sqlite";
  /** Where it ends, and at which arrival there. */
  readonly end?: { readonly point: FaultPoint; readonly hit: number } | undefined;
  readonly recovery: Recovery;
  /** Orders of earlier lives, finished first. */
  readonly left: readonly Order[];
  readonly orders: readonly Order[];
}

/** What it tells, each before it goes on. */
export type Told =
  | { readonly what: "saved"; readonly order: string; readonly key: string }
  | {
      readonly what: "outcome" | "hook";
      readonly order: string;
      readonly key: string | undefined;
      readonly state: string;
    }
  | { readonly what: "recovered" }
  | {
      readonly what: "done";
      /** How often each point was reached. */
      readonly hits: Readonly<Partial<Record<FaultPoint, number>>>;
      readonly counts: Readonly<Partial<Record<State, number>>>;
    };
