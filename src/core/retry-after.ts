const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

const month = `(?<month>${MONTHS.join("|")})`;
const time = "(?<hour>\\d\\d):(?<minute>\\d\\d):(?<second>\\d\\d)";
// The three forms that RFC 9110 §5.6.7 obliges a recipient to read.
const dateForms = [
  new RegExp(`^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (?<day>\\d\\d) ${month} (?<year>\\d{4}) ${time} GMT$`),
  new RegExp(`^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (?<day>\\d\\d)-${month}-(?<year>\\d\\d) ${time} GMT$`),
  new RegExp(`^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) ${month} (?<day>[ \\d]\\d) ${time} (?<year>\\d{4})$`),
];

/** An HTTP-date (RFC 9110 §5.6.7) in milliseconds; `undefined` for anything else. */
export function parseHttpDate(value: string | null | undefined, now: number): number | undefined {
  for (const form of value ? dateForms : []) {
    const parts = form.exec(value ?? "")?.groups;
    if (!parts) continue;
    const [day = 0, hour = 0, minute = 0, second = 0] = ["day", "hour", "minute", "second"].map((name) =>
      Number(parts[name]),
    );
    const monthIndex = MONTHS.indexOf(parts.month ?? "");
    const year = parts.year?.length === 2 ? fullYear(Number(parts.year), now) : Number(parts.year);
    const midnight = new Date(Date.UTC(year, monthIndex, day));
    const exists = midnight.getUTCFullYear() === year && midnight.getUTCMonth() === monthIndex;
    // The sixtieth second is a leap second.
    if (!exists || hour > 23 || minute > 59 || second > 60) return undefined;
    return midnight.getTime() + ((hour * 60 + minute) * 60 + second) * 1000;
  }
  return undefined;
}

/** The year that ends in these two digits and lies less than 50 years back, or at most 50 ahead. */
function fullYear(twoDigits: number, now: number): number {
  const latest = new Date(now).getUTCFullYear() + 50;
  return latest - ((latest - twoDigits) % 100);
}

/** Reads one header; `null` where it is absent. */
export interface HeaderReader {
  get(name: string): string | null;
}

/**
 * How long a server asks to wait, in milliseconds: `retry-after-ms`, or `Retry-After` (RFC 9110 §10.2.3) as 1–10 digits
 * or an HTTP-date, which is read against the response's own `Date`. Malformed values are ignored.
 */
export function parseRetryAfter(headers: HeaderReader, now: number): number | undefined {
  const ms = headers.get("retry-after-ms")?.trim() ?? "";
  if (/^\d{1,13}$/.test(ms)) return Number(ms);
  const value = headers.get("retry-after")?.trim() ?? "";
  if (/^\d{1,10}$/.test(value)) return Number(value) * 1000;
  const at = parseHttpDate(value, now);
  if (at === undefined) return undefined;
  return Math.max(0, at - (parseHttpDate(headers.get("date"), now) ?? now));
}
