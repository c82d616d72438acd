/**
 * Places where a test ends the process, to see what is left and whether the next one finishes it. Every call stands behind
 * the label `FAULT`, and the build drops what is labelled so: nothing of this is published.
 */

/** Every place there is, as `step:moment`. The crash matrix has cells for each, or it does not compile. */
export const FAULT_POINTS = [
  "open:created",
  "open:wal",
  "migrate:begun",
  "migrate:schema",
  "migrate:tables",
  "migrate:commit",
  "migrate:committed",
  "record:before",
  "record:after",
  "claim:before",
  "claim:after",
  "send:before",
  "send:after",
  "answer:head",
  "answer:body",
  "settle:before",
  "settle:told",
  "settle:after",
  "group:begun",
  "group:row",
  "group:commit",
  "group:asked",
  "group:committed",
  "group:told",
  "deliver:before",
  "deliver:after",
  "renew:before",
  "renew:after",
  "relieve:before",
  "relieve:after",
  "decide:before",
  "decide:after",
  "prune:before",
  "prune:after",
] as const;

/** One of {@link FAULT_POINTS}. */
export type FaultPoint = (typeof FAULT_POINTS)[number];

let arrive: (point: FaultPoint) => void = () => {};

/** Tells that this place is reached. */
export function faultPoint(point: FaultPoint): void {
  arrive(point);
}

/** What is called at each place from now on. What it throws is thrown there. */
export function onFaultPoint(listener: (point: FaultPoint) => void): void {
  arrive = listener;
}
