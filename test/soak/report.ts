import type { SoakReport } from "./soak.js";
import type { Course } from "./watch.js";

/** Shorter runs end before what they hold has come to rest, in seconds: whatever is done is remembered for thirty. */
const LONG_ENOUGH = 150;
const MIB = 2 ** 20;

/** One line of the table. */
export interface Row {
  readonly name: string;
  readonly value: string;
  /** Whether it is as it has to be; absent where nothing is asked of it. */
  readonly met?: boolean;
}

/** What came of a soak, line by line. */
export function rowsOf(report: SoakReport): readonly Row[] {
  const { saw, fleet, operations, seconds, courses } = report;
  const { pending = 0, blocked = 0, unresolved = 0 } = fleet.left;
  const { succeeded = 0 } = fleet.states;
  return [
    { name: "operations", value: count(operations) },
    { name: "processes on one SQLite file", value: count(report.processes) },
    { name: "seconds", value: `${seconds.toFixed(0)} (${(operations / seconds).toFixed(0)} operations a second)` },
    { name: "workers killed", value: count(fleet.kills) },
    { name: "requests", value: `${count(saw.requests)}, ${count(saw.replayed)} of them replayed` },
    { name: "409 because a request was at work", value: count(saw.busy) },
    ...Object.entries(saw.faults).map(([fault, times]) => ({ name: `  ${fault}`, value: count(times) })),
    { name: "not recorded at once, tried again", value: listed(fleet.unsaved) },
    { name: "told more than once", value: count(fleet.toldAgain) },
    { name: "lost", value: count(saw.lost), met: saw.lost === 0 },
    { name: "duplicated", value: count(saw.duplicated), met: saw.duplicated === 0 },
    { name: "sent under a second key", value: count(saw.rekeyed), met: saw.rekeyed === 0 },
    { name: "sent with another body", value: count(saw.changed), met: saw.changed === 0 },
    { name: "told as succeeded", value: count(succeeded), met: succeeded === operations },
    {
      name: "left unsettled in the store",
      value: count(pending + blocked + unresolved),
      met: pending + blocked + unresolved === 0,
    },
    flat("resident memory", courses.rss, seconds, ({ early, late }) => late - early <= 24 * MIB),
    flat("heap", courses.heap, seconds, ({ early, late }) => late - early <= 4 * MIB),
    flat("database file", courses.db, seconds, ({ early, late }) => late <= early + 8 * MIB),
    flat("write-ahead log", courses.wal, seconds, ({ early, late }) => late <= Math.max(1.25 * early, 64 * MIB)),
    { name: "most resident memory of any worker", value: mib(report.mostRss) },
  ];
}

function flat(name: string, course: Course | undefined, seconds: number, isFlat: (course: Course) => boolean): Row {
  if (!course) return { name: `${name}, after warm-up → at the end`, value: "too short to see" };
  const value = `${mib(course.early)} → ${mib(course.late)}`;
  const judged = seconds >= LONG_ENOUGH ? { met: isFlat(course) } : {};
  return { name: `${name}, after warm-up → at the end`, value, ...judged };
}

const count = (n: number): string => n.toLocaleString("en");
const mib = (bytes: number): string => `${(bytes / MIB).toFixed(1)} MiB`;
const listed = (times: Readonly<Record<string, number>>): string =>
  Object.entries(times)
    .map(([name, n]) => `${count(n)} ${name}`)
    .join(", ") || "0";
