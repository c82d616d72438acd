/** How things are written for people. */

const units: readonly [name: string, ms: number][] = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1000],
];

/** A length of time by its largest unit, such as `3 h`. */
export function length(ms: number): string {
  const [name, unit] = units.find(([, unit]) => Math.abs(ms) >= unit) ?? ["ms", 1];
  return `${Math.floor(Math.abs(ms) / unit)} ${name}`;
}

/** A moment, and how far it is from now. */
export function moment(at: number, now: number): string {
  const distance = at <= now ? `${length(now - at)} ago` : `in ${length(at - now)}`;
  return `${Number.isFinite(at) && Math.abs(at) <= 8.64e15 ? new Date(at).toISOString() : at} (${distance})`;
}

/** What programs have stored may hold anything; a terminal would obey it. */
export function safe(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16) ?? ""}}`,
  );
}

/** Columns as wide as what stands in them, two blanks between. */
export function columns(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows)
    row.forEach((cell, index) => {
      widths[index] = Math.max(widths[index] ?? 0, cell.length);
    });
  const line = (row: readonly string[]): string => row.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join("  ");
  return rows.map((row) => line(row).trimEnd()).join("\n");
}
