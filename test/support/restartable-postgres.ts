import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
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
      if (mode === "immediate") {
        const again = await running.crash();
        await again();
        return;
      }
      await running.stop();
      running = await start();
    },
    stop: async () => {
      await running.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
