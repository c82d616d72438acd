import { randomUUID } from "node:crypto";
import { readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startEmbeddedPostgres } from "../../examples/reference-server/embedded-postgres.js";

/** `fast` ends every session in order, `immediate` as a crash would: the log has to be replayed. */
export type RestartMode = "fast" | "immediate";

/** A Postgres that can be restarted with its data. */
export interface RestartablePostgres {
  /** The connection string as of now: another one after a restart. */
  readonly url: string;
  /** Resolves when it answers again. */
  restart(mode: RestartMode): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a Postgres of our own, whatever `DATABASE_URL` names: nobody else's is to be restarted. */
export async function startRestartablePostgres(): Promise<RestartablePostgres> {
  const dataDir = join(tmpdir(), `samekey-restartable-${randomUUID()}`);
  const start = () => startEmbeddedPostgres({ dataDir, fsync: false });
  let running = await start();
  return {
    get url() {
      return running.url;
    },
    restart: async (mode) => {
      if (mode === "immediate") await kill(dataDir);
      await running.stop();
      running = await start();
    },
    stop: async () => {
      await running.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

async function kill(dataDir: string): Promise<void> {
  const pid = Number((await readFile(join(dataDir, "postmaster.pid"), "utf8")).split("\n")[0]);
  process.kill(pid, "SIGQUIT");
  while (alive(pid)) await sleep(10);
}

function alive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
