import { FAULT_POINTS, type FaultPoint } from "../../../src/core/fault-point.js";
import type { Kind } from "./errand.js";
import { MOMENTS, type Moment } from "./server.js";

/** Where a process is ended: at a point of its own, or when the server sees a moment. */
export type Place = FaultPoint | Moment;

export const PLACES: readonly Place[] = [...FAULT_POINTS, ...MOMENTS];

/** A file has them; IndexedDB makes its database in one step of its own. */
const ofFiles: readonly Place[] = ["open:created", "open:wal", "migrate:commit", "migrate:committed"];

/** Where a tab can be ended. */
export const TAB_PLACES: readonly Place[] = PLACES.filter((place) => !ofFiles.includes(place));

/** What the lives of a cell are like, so that they come to its place. */
export interface Setting {
  /** Orders of each life; with `+` in one lane. */
  readonly orders: readonly (Kind | `${Kind}+`)[];
  /** Each place is come to in a file of its own. */
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
