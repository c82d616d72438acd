import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";

/** Asks a person; whatever is not a plain yes is a no. */
export function confirm(question: string, input: Readable, output: Writable): Promise<boolean> {
  const lines = createInterface({ input, output });
  return new Promise((resolve) => {
    // An input that ends, or Ctrl-C, gives no answer.
    lines.on("close", () => resolve(false));
    lines.question(`${question} [y/N] `, (answer) => {
      resolve(/^y(es)?$/i.test(answer.trim()));
      lines.close();
    });
  });
}
