import process from "node:process";

/** A line that is drawn over on a terminal; elsewhere a few plain lines. */
export class LiveLine {
  readonly #live = process.stdout.isTTY === true;
  readonly #lines: number;
  #drawn = 0;
  #step = -1;

  /** @param lines - how many plain lines */
  constructor(lines = 4) {
    this.#lines = lines;
  }

  /** @param done - the part that is done, from 0 to 1 */
  update(done: number, text: string): void {
    if (!this.#live) {
      const step = Math.floor(done * this.#lines);
      if (step > this.#step) console.log(text);
      this.#step = Math.max(step, this.#step);
      return;
    }
    const now = Date.now();
    if (now - this.#drawn < 50 && done < 1) return;
    this.#drawn = now;
    const bar = "█".repeat(Math.round(done * 24)).padEnd(24, "░");
    process.stdout.write(`\r\x1b[K${`${bar} ${text}`.slice(0, (process.stdout.columns ?? 80) - 1)}`);
  }

  end(): void {
    if (this.#live) process.stdout.write("\n");
  }
}

/** Rows of a name and a value, in two columns. */
export function table(rows: readonly (readonly [string, string | number])[]): string {
  const values = rows.map(([, value]) => (typeof value === "number" ? value.toLocaleString("en") : value));
  const [left, right] = [rows.map(([name]) => name), values].map((cells) =>
    Math.max(...cells.map(({ length }) => length)),
  );
  return rows.map(([name], row) => `  ${name.padEnd(left ?? 0)}   ${values[row]?.padStart(right ?? 0)}`).join("\n");
}
