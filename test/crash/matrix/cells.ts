import { FAULT_POINTS, type FaultPoint } from "../../../src/core/fault-point.js";
import type { Kind } from "./errand.js";
import { MOMENTS, type Moment } from "./server.js";

/** Where a process is ended: at a point of its own, or when the server sees a moment. */
export type Place = FaultPoint | Moment;

export type StoreKind = "sqlite" | "postgres" | "indexeddb";

/** The points that not every store comes to, and which ones do. IndexedDB makes its database in one step of its own. */
const some: Readonly<Partial<Record<Place, readonly StoreKind[]>>> = {
  "open:created": ["sqlite"],
  "open:wal": ["sqlite"],
  "migrate:schema": ["postgres"],
  "migrate:commit": ["sqlite", "postgres"],
  "migrate:committed": ["sqlite", "postgres"],
  "group:asked": ["postgres"],
};

/** Where a process, or a tab, on such a store can be ended. */
export function placesOf(kind: StoreKind): readonly Place[] {
  return [...FAULT_POINTS, ...MOMENTS].filter((place) => some[place]?.includes(kind) ?? true);
}

/** What the lives of a cell are like, so that they come to its place. */
export interface Setting {
  /** Orders of each life; with `+` in one lane. */
  readonly orders: readonly (Kind | `${Kind}+`)[];
  /** Each place is come to in a store of its own. */
  readonly fresh?: boolean;
  /** How many times as fast the clock goes. */
  readonly speed?: number;
  readonly prunes?: boolean;
  /** Every other life ends here instead, to leave something for the next. */
  readonly first?: FaultPoint;
}

const orders: Setting = { orders: ["plain", "refused", "flaky+", "large+", "plain+"] };
const opening: Setting = { orders: ["plain", "refused"], fresh: true };
const slow: Setting = { orders: ["slow", "slow"], speed: 40 };
const orphans: Setting = { ...orders, first: "send:after" };
const decisions: Setting = { orders: ["canceled", "reconciled", "discarded", "asked"] };
const pruning: Setting = { orders: ["plain", "refused", "plain"], prunes: true };

const settings: Readonly<Record<FaultPoint, Setting>> = {
  "open:created": opening,
  "open:wal": opening,
  "migrate:begun": opening,
  "migrate:schema": opening,
  "migrate:tables": opening,
  "migrate:commit": opening,
  "migrate:committed": opening,
  "record:before": orders,
  "record:after": orders,
  "claim:before": orders,
  "claim:after": orders,
  "send:before": orders,
  "send:after": orders,
  "answer:head": orders,
  "answer:body": orders,
  "settle:before": orders,
  "settle:told": orders,
  "settle:after": orders,
  "group:begun": orders,
  "group:row": orders,
  "group:commit": orders,
  "group:asked": orders,
  "group:committed": orders,
  "group:told": orders,
  "deliver:before": decisions,
  "deliver:after": decisions,
  "renew:before": slow,
  "renew:after": slow,
  "relieve:before": orphans,
  "relieve:after": orphans,
  "decide:before": decisions,
  "decide:after": decisions,
  "prune:before": pruning,
  "prune:after": pruning,
};

export const isMoment = (place: Place): place is Moment => (MOMENTS as readonly string[]).includes(place);

export const settingOf = (place: Place): Setting => (isMoment(place) ? orders : settings[place]);
