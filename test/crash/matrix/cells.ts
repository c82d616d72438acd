import { FAULT_POINTS, type FaultPoint } from "../../../src/core/fault-point.js";
import { MOMENTS, type Moment } from "./server.js";

/** Where a process is ended: at a point of its own, or when the server sees a moment. */
export type Place = FaultPoint | Moment;

export const PLACES: readonly Place[] = [...FAULT_POINTS, ...MOMENTS];

export const isMoment = (place: Place): place is Moment => (MOMENTS as readonly string[]).includes(place);
