import { Command } from "commander";
import type { Duration } from "../../core/durations.js";
import type { ResumeReport } from "../../index.node.js";
import { Exit } from "../exit.js";
import { Progress, say } from "../operations/output.js";
import { loadSdk } from "../operations/place.js";
import { columns } from "../operations/text.js";

interface ResumeOptions {
  readonly sdk: string;
  readonly owner: string;
  readonly wait: Duration;
  readonly json?: true;
}

/** As a shell is told of Ctrl-C. */
const INTERRUPTED = 130;

/** `samekey resume` */
export function resumeCommand(): Command {
  return new Command("resume")
    .description("send what is due, with the program's own Sdk, until it is settled or the time is over")
    .requiredOption("--sdk <file>", "a module whose default export is the program's Sdk")
    .option("--owner <id>", "whose; the default sends each as its recorded owner", "*")
    .option("--wait <time>", "how long, at most", "10m")
    .option("--json", "print the report as a line of JSON")
    .option("--verbose", "show where an error comes from")
    .action(act);
}

async function act({ sdk: path, owner, wait, json }: ResumeOptions): Promise<void> {
  const sdk = await loadSdk(path);
  const progress = new Progress();
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  process.once("SIGINT", stop);
  process.once("SIGTERM", stop);
  try {
    const { signal } = stopping;
    const onProgress = (report: ResumeReport): void => progress.tell(bar(report));
    const report = await sdk.resume({ owner, wait, signal, onProgress });
    progress.end();
    await say(json ? JSON.stringify(report) : columns(Object.entries(report).map(([what, n]) => [what, String(n)])));
    if (signal.aborted) {
      process.stderr.write("interrupted: what was not settled is kept as it was\n");
      throw new Exit(INTERRUPTED);
    }
    const { remaining, blocked, unresolved } = report;
    if (remaining + blocked + unresolved > 0) throw new Exit(1);
  } finally {
    process.off("SIGINT", stop);
    process.off("SIGTERM", stop);
    await sdk.close();
  }
}

const WIDTH = 30;

function bar({ remaining, ...ended }: ResumeReport): string {
  const done = Object.values(ended).reduce((sum, n) => sum + n, 0);
  const share = done / Math.max(1, done + remaining);
  const filled = Math.round(share * WIDTH);
  const { blocked, unresolved } = ended;
  return `${"#".repeat(filled)}${".".repeat(WIDTH - filled)} ${done} of ${done + remaining}, ${blocked} blocked, ${unresolved} unresolved`;
}
