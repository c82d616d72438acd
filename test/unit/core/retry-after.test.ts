import { describe, expect, it } from "vitest";
import { parseHttpDate, parseRetryAfter } from "../../../src/core/retry-after.js";

const now = Date.UTC(2026, 0, 15, 12, 0, 0);

const waitOf = (headers: Record<string, string>) => parseRetryAfter(new Headers(headers), now);

describe("F38 Retry-After", () => {
  it.each([
    ["120", 120_000],
    ["0", 0],
    ["  7 ", 7000],
    ["007", 7000],
    ["9999999999", 9_999_999_999_000],
    ["12345678901", undefined],
    ["-5", undefined],
    ["+3", undefined],
    ["1.5", undefined],
    ["1e3", undefined],
    ["0x10", undefined],
    ["", undefined],
    ["garbage", undefined],
    ["1000abc", undefined],
    ["Infinity", undefined],
    ["NaN", undefined],
    ["5, 7", undefined],
    ["5;q=1", undefined],
    ["2026-01-15T12:00:10Z", undefined],
    ["Thu, 15 Jan 2026 12:00:10 GMT", 10_000],
    ["Thu, 15 Jan 2026 11:59:50 GMT", 0],
    ["Thursday, 15-Jan-26 12:00:10 GMT", 10_000],
    ["Thu Jan 15 12:00:10 2026", 10_000],
    ["Thu, 15 Jan 2026 12:00:10 UTC", undefined],
    ["Thu, 15 Jan 2026 12:00:10 +0100", undefined],
    ["thu, 15 jan 2026 12:00:10 gmt", undefined],
  ])("%j waits %j ms", (value, ms) => {
    expect(waitOf({ "retry-after": value })).toBe(ms);
  });

  it("two headers are joined by fetch and then mean nothing", () => {
    const headers = new Headers();
    headers.append("retry-after", "5");
    headers.append("retry-after", "7");
    expect(parseRetryAfter(headers, now)).toBeUndefined();
  });

  it("is absent without a header", () => {
    expect(waitOf({})).toBeUndefined();
  });

  it.each([
    ["IMF-fixdate", "Thu, 15 Jan 2026 09:00:30 GMT"],
    ["RFC 850", "Thursday, 15-Jan-26 09:00:30 GMT"],
    ["asctime", "Thu Jan 15 09:00:30 2026"],
  ])("a date (%s) is read against the response's own Date, not against our clock", (_, value) => {
    expect(waitOf({ "retry-after": value, date: "Thu, 15 Jan 2026 09:00:00 GMT" })).toBe(30_000);
  });

  it("a malformed Date leaves our clock", () => {
    expect(waitOf({ "retry-after": "Thu, 15 Jan 2026 12:00:10 GMT", date: "today" })).toBe(10_000);
  });

  it.each([
    ["1500", 1500],
    ["0", 0],
    ["1.5", 9000],
    ["-1", 9000],
    ["", 9000],
    ["soon", 9000],
    ["12345678901234", 9000],
  ])("retry-after-ms %j beside Retry-After 9 waits %d ms", (value, ms) => {
    expect(waitOf({ "retry-after-ms": value, "retry-after": "9" })).toBe(ms);
  });
});

describe("an HTTP-date", () => {
  it.each([
    ["Sun, 06 Nov 1994 08:49:37 GMT", "1994-11-06T08:49:37.000Z"],
    ["Sunday, 06-Nov-94 08:49:37 GMT", "1994-11-06T08:49:37.000Z"],
    ["Sun Nov  6 08:49:37 1994", "1994-11-06T08:49:37.000Z"],
    ["Sun Nov 06 08:49:37 1994", "1994-11-06T08:49:37.000Z"],
    ["Thu, 29 Feb 2024 00:00:00 GMT", "2024-02-29T00:00:00.000Z"],
    ["Sat, 31 Dec 2016 23:59:60 GMT", "2017-01-01T00:00:00.000Z"],
    ["Friday, 15-Jan-76 12:00:00 GMT", "2076-01-15T12:00:00.000Z"],
    ["Friday, 15-Jan-77 12:00:00 GMT", "1977-01-15T12:00:00.000Z"],
    ["Friday, 15-Jan-00 12:00:00 GMT", "2000-01-15T12:00:00.000Z"],
  ])("%j is %s", (text, iso) => {
    expect(new Date(parseHttpDate(text, now) ?? Number.NaN).toISOString()).toBe(iso);
  });

  it.each([
    "Sun, 31 Feb 2026 00:00:00 GMT",
    "Sun, 00 Nov 2026 00:00:00 GMT",
    "Sun, 29 Feb 2026 00:00:00 GMT",
    "Sun, 06 Nov 2026 24:00:00 GMT",
    "Sun, 06 Nov 2026 08:60:00 GMT",
    "Sun, 06 Nov 2026 08:49:61 GMT",
    "Sun, 06 Nov 0026 08:49:00 GMT",
    "Sun, 6 Nov 1994 08:49:37 GMT",
    "Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT",
    " Sun, 06 Nov 1994 08:49:37 GMT",
    "1767225600",
  ])("%j is none", (text) => {
    expect(parseHttpDate(text, now)).toBeUndefined();
  });

  it.each([null, undefined])("%j is none", (text) => {
    expect(parseHttpDate(text, now)).toBeUndefined();
  });

  it("with two digits reaches over the turn of the century", () => {
    const late = Date.UTC(2099, 11, 31);
    expect(new Date(parseHttpDate("Friday, 01-Jan-00 00:00:00 GMT", late) ?? 0).getUTCFullYear()).toBe(2100);
  });
});
