import { type Duration, toMs } from "../../core/durations.js";
import { MisuseError } from "../../errors.js";
import type { RetentionReport } from "../retention.js";

/** Options of a retention job that runs in the server. */
export interface RetentionSchedule {
  /** How often, from a second to a day; each time up to a half sooner or later, so that servers spread. @defaultValue "1h" */
  readonly every?: Duration | undefined;
  /** Hears what each run did. */
  readonly onReport?: ((report: RetentionReport) => void) | undefined;
  /** Hears why a run failed; the next one comes all the same. @defaultValue a process warning, `SAMEKEY_RETENTION` */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** The first run comes within this time, ms: a server that is often restarted must get to one. */
const firstWithin = 60_000;

/**
 * Runs the job again and again. Its timers keep no process alive.
 *
 * @returns what stops it, and resolves once a run that is under way has ended
 * @throws MisuseError `bad_option`
 */
export function scheduleRetention(
  run: () => Promise<RetentionReport>,
  { every = "1h", onReport = () => {}, onError = warn }: RetentionSchedule = {},
): () => Promise<void> {
  const interval = toMs(every, "every");
  if (interval < 1_000 || interval > 86_400_000) {
    throw new MisuseError("bad_option", { detail: "`every` must be a second to a day" });
  }
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let running = Promise.resolve();
  const wait = (ms: number): void => {
    timer = setTimeout(() => {
      running = turn();
    }, ms).unref();
  };
  const turn = async (): Promise<void> => {
    await run().then(onReport).catch(onError);
    if (!stopped) wait(interval * (0.5 + Math.random()));
  };
  wait(Math.random() * Math.min(interval, firstWithin));
  return async () => {
    stopped = true;
    clearTimeout(timer);
    await running;
  };
}

function warn(error: unknown): void {
  const text = error instanceof Error ? error.message : String(error);
  process.emitWarning(`samekey's retention job failed: ${text}`, { code: "SAMEKEY_RETENTION" });
}
