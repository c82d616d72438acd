import type { RetentionStatus } from "../retention/status.js";

/** What the gauges are read from: an engine is one. */
export interface RetentionSource {
  retentionStatus(): Promise<RetentionStatus>;
}
