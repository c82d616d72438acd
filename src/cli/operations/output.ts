import { once } from "node:events";

/** Writes a line, and waits where whoever reads is slower: a million lines are not kept in memory. */
export async function say(line: string): Promise<void> {
  if (!process.stdout.write(`${line}\n`)) await once(process.stdout, "drain");
}

/** Progress on stderr: one line that is written over on a terminal, a line now and then elsewhere. */
export class Progress {
  readonly #isTerminal = process.stderr.isTTY === true;
  #told = 0;

  tell(line: string): void {
    const now = performance.now();
    if (now - this.#told < (this.#isTerminal ? 100 : 5000)) return;
    this.#told = now;
    process.stderr.write(this.#isTerminal ? `\r\u001b[2K${line}` : `${line}\n`);
  }

  /** Takes the line away: what comes next begins at the left. */
  end(): void {
    if (this.#isTerminal && this.#told > 0) process.stderr.write("\r\u001b[2K");
  }
}
