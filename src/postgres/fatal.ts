/** An error and what it was caused by: ORMs wrap what the driver threw. */
export function* causes(error: unknown): Generator<object> {
  const seen = new Set<unknown>();
  for (let one = error; typeof one === "object" && one !== null && !seen.has(one); one = (one as Error).cause) {
    seen.add(one);
    yield one;
  }
}

/** Whether the session ended with it, by Postgres' word or a pooler's; PgBouncer knows the older of the fields only. */
export function isFatal(error: unknown): boolean {
  for (const one of causes(error)) {
    const { severity, severity_local } = one as { severity?: unknown; severity_local?: unknown };
    if (/^(FATAL|PANIC)$/.test(String(severity ?? severity_local))) return true;
  }
  return false;
}
