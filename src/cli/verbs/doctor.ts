import { Command, Option } from "commander";
import { v4 } from "uuid";
import { advise } from "../doctor/advice.js";
import { confirm } from "../doctor/consent.js";
import { Network } from "../doctor/network.js";
import { isAnswered, type Observation, type ProbeName, type Seen } from "../doctor/observation.js";
import { MOST_WRITES, readingPlan, writingPlan } from "../doctor/plan.js";
import { type DoctorReport, render } from "../doctor/report.js";
import { type DoctorOptions, resolveTarget, type Target } from "../doctor/target.js";
import { type Conclusion, conclude, judge } from "../doctor/verdict.js";
import { Exit } from "../exit.js";

interface Options extends DoctorOptions {
  readonly yes?: true;
  readonly json?: true;
}

const exitCodes: Readonly<Record<Conclusion, number>> = { kept: 0, broken: 1, inconclusive: 3 };

/** `samekey doctor` */
export function doctorCommand(): Command {
  return new Command("doctor")
    .argument("<url>", "the endpoint; nothing else is asked, but what its origin publishes")
    .description(
      "examine an endpoint's idempotency contract from outside; asks before it sends what the endpoint acts on",
    )
    .option("--method <method>", "POST, PUT, PATCH or DELETE", "POST")
    .addOption(new Option("--body <text>", "the body; JSON unless a header says otherwise").conflicts("bodyFile"))
    .option("--body-file <path>", "the body, as the bytes of a file")
    .option("--other-body <text>", "another body that the endpoint would take; without it, one is made of the body")
    .option(
      "--header <line>",
      "a header, `name: value`, or `@file` with one a line; may be repeated, is never printed",
      collect,
    )
    .option("--key-header <name>", "the header that carries the key", "Idempotency-Key")
    .option("--origin <origin>", "also see what browsers on this origin may do, such as https://shop.example.com")
    .option("--timeout <time>", "how long one request may take", "10s")
    .option("--yes", "send without asking")
    .option("--json", "print the report as a line of JSON")
    .option("--verbose", "show where an error comes from")
    .action(act);
}

const collect = (line: string, before: readonly string[] = []): readonly string[] => [...before, line];

async function act(url: string, options: Options): Promise<void> {
  const target = resolveTarget(url, options);
  const network = new Network(target.url.origin, target.timeout);
  const seen = new Map<ProbeName, readonly Observation[]>();
  await network.carryOut(readingPlan(target), seen);
  const wrote = isThere(seen) && (await isAllowed(target, options));
  if (wrote) await network.carryOut(writingPlan(target, [v4(), v4()], Date.now), seen);

  const checks = judge(seen, target, Date.now());
  const conclusion = conclude(checks);
  const report: DoctorReport = {
    v: 1,
    url: placeOf(target),
    method: target.method,
    conclusion,
    wrote,
    requests: network.sent,
    checks,
    options: advise(seen, checks, target),
  };
  process.stdout.write(`${options.json ? JSON.stringify(report) : render(report)}\n`);
  throw new Exit(exitCodes[conclusion]);
}

/** Whether somebody listens at all. */
function isThere(seen: Seen): boolean {
  const [reached] = seen.get("published") ?? [];
  if (!reached || isAnswered(reached) || reached.how !== "unsent") return true;
  process.stderr.write(`the server cannot be reached (${reached.cause}): nothing was sent to the endpoint\n`);
  return false;
}

async function isAllowed(target: Target, { yes }: Options): Promise<boolean> {
  const { stdin, stderr } = process;
  const what = `${target.method} ${placeOf(target)}`;
  if (!yes && !(stdin.isTTY && stderr.isTTY)) {
    stderr.write(
      `${what} was not sent: there is no terminal to ask on. Only what is read-only was done; --yes sends it\n`,
    );
    return false;
  }
  stderr.write(
    `This really sends ${what} (${target.body?.length ?? 0} bytes) up to ${MOST_WRITES} times, under two keys and once without.\n` +
      "A server that keeps the contract carries it out twice. One that does not may carry it out each time:\n" +
      "the doctor stops where a repeat is answered as something new, but what was done by then is done.\n" +
      "Use an account and amounts that may be spent.\n",
  );
  return yes ?? confirm("Send it?", stdin, stderr);
}

/** Without the query, which may hold secrets. */
const placeOf = ({ url }: Target): string => `${url.origin}${url.pathname}${url.search ? "?…" : ""}`;
