/**
 * `npm run demo`: 200 transfers through a network that loses, repeats and cuts, by a worker that is killed again and
 * again. Fails unless every transfer happened exactly once.
 *
 * `-- --seed 7` for other accidents; `-- --new-keys` to see what happens without one key for every attempt.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import pg from "pg";
import { startEmbeddedPostgres } from "../reference-server/embedded-postgres.js";
import { audit, balances, totalBalance } from "./audit.js";
import { startBadNetwork } from "./bad-network.js";
import { HardLife } from "./hard-life.js";
import { planTransfers } from "./plan.js";
import { seeded } from "./random.js";
import { LiveLine, table } from "./screen.js";
import { Weather } from "./weather.js";

const { values: options } = parseArgs({
  options: {
    transfers: { type: "string", default: "200" },
    seed: { type: "string", default: "1" },
    "new-keys": { type: "boolean", default: false },
  },
});
const transfers = planTransfers(Number(options.transfers));
const program = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/** After so many milliseconds something must have gone wrong. */
const PATIENCE = 180_000;
/** What is to be ended at the end, the latest first. */
const endings: (() => unknown)[] = [];
const stopped = new AbortController();

async function main(): Promise<boolean> {
  const startedAt = performance.now();
  console.log("starting Postgres, the server, and a bad network between it and the worker");
  heedSignals();
  const postgres = await startEmbeddedPostgres();
  endings.push(() => postgres.stop());
  // The embedded Postgres brings handlers of its own, which would take the database away before the server is done.
  heedSignals();
  const pool = new pg.Pool({ connectionString: postgres.url, max: 1 });
  pool.on("error", () => {});
  endings.push(() => pool.end());
  const upstream = await startServer(postgres.url);

  const random = seeded(Number(options.seed));
  const weather = new Weather(random);
  const network = await startBadNetwork({ upstream, ...weather });
  endings.push(() => network.close());
  const directory = await mkdtemp(join(tmpdir(), "samekey-demo-"));
  endings.push(() => rm(directory, { recursive: true, force: true }));

  const [before, totalBefore] = [await balances(pool), await totalBalance(pool)];
  const line = new LiveLine();
  const life = new HardLife({
    program: program("worker.js"),
    args: [network.url, join(directory, "worker.sqlite"), options.transfers, options["new-keys"] ? "new" : "same"],
    random,
    signal: AbortSignal.any([stopped.signal, AbortSignal.timeout(PATIENCE)]),
    onProgress: () => {
      const { size } = life.settled;
      const progress = `${size} of ${transfers.length} transfers · ${life.kills} kills · ${weather.attempts} attempts`;
      line.update(size / transfers.length, progress);
    },
  });
  const counts = await life.run();
  const told = life.settled.size;
  line.end();

  const found = await audit(pool, transfers, before);
  const totalAfter = await totalBalance(pool);
  const { faults } = weather;
  const rows = [
    ["operations", transfers.length],
    ["  of them succeeded, says the worker", counts.succeeded ?? 0],
    ["  of them told to the settled hook", told],
    ["kills (SIGKILL)", life.kills],
    ["attempts", weather.attempts],
    ["  requests lost", faults["lose request"]],
    ["  responses lost after the commit", faults["lose response"]],
    ["  responses cut off", faults["cut body"]],
    ["  responses that found the worker dead", network.undelivered],
    ["  requests duplicated", faults.duplicate],
    ["  503 from a gateway", faults["503"]],
    ["  stalled", faults.stall],
    ["answers 409, a copy was under way", weather.busy],
    ["answers replayed from the server's record", weather.replays],
    ["ledger entries (two for each transfer)", found.entries],
    ["duplicates", found.duplicates],
    ["lost", found.lost],
    ["balance before", totalBefore],
    ["balance after", totalAfter],
    ["accounts with a wrong balance", found.wrongBalances],
  ] as const;
  console.log(`\n${table(rows)}\n`);

  const kept =
    found.duplicates === 0 &&
    found.lost === 0 &&
    found.wrongBalances === 0 &&
    totalAfter === totalBefore &&
    counts.succeeded === transfers.length &&
    told === transfers.length;
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.log(kept ? `every transfer exactly once (${seconds} s)` : `THE PROMISE IS BROKEN (${seconds} s)`);
  return kept;
}

function heedSignals(): void {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.removeAllListeners(signal).on(signal, () => stopped.abort(new Error(`stopped by ${signal}`)));
  }
}

async function startServer(databaseUrl: string): Promise<string> {
  const child = spawn(process.execPath, [program("server.js")], {
    env: { ...process.env, PORT: "0", DATABASE_URL: databaseUrl },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exit = once(child, "exit");
  endings.push(() => {
    child.kill("SIGTERM");
    return exit;
  });
  for await (const line of createInterface(child.stdout)) {
    const url = /^listening on (\S+)$/.exec(line)?.[1];
    if (url) return url;
  }
  throw new Error("the server did not start");
}

let kept = false;
try {
  kept = await main();
} catch (error) {
  console.error(stopped.signal.aborted ? `\n${stopped.signal.reason.message}` : error);
} finally {
  for (const end of endings.reverse()) await end();
}
process.exit(kept ? 0 : 1);
