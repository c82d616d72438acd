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
  for (const form of dateForms) {
    const parts = form.exec(value ?? "")?.groups;
    if (!parts) continue;
    const number = (name: string): number => Number(parts[name]);
    const at = (year: number): number =>
      Date.UTC(year, MONTHS.indexOf(parts.month ?? ""), number("day"), number("hour"), number("minute"), number("second"));
    if (parts.year?.length === 4) return at(number("year"));
    // A two-digit year that would lie more than 50 years ahead is in the past.
    const century = Math.floor(new Date(now).getUTCFullYear() / 100) * 100;
    const guess = at(century + number("year"));
    return guess > now + 50 * 365.25 * 86_400_000 ? at(century - 100 + number("year")) : guess;
  }
  return undefined;
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
