import { reserve } from "../../postgres/reserve.js";
import { Watch } from "../../postgres/watch.js";
import type {
  AnyDatabase,
  Connection,
  Database,
  ReservedConnection,
  ReservingDatabase,
  TransactionRunner,
} from "../driver.js";
import { OwnedSession } from "./owned-session.js";
import { PoolSession } from "./pool-session.js";
import { ReservedSession } from "./reserved-session.js";
import type { Sessions } from "./session.js";

/** How sessions come from `db`; undefined where it is nothing that samekey knows. */
export function sessionsOf<Tx>(db: AnyDatabase): Sessions<Tx> | undefined {
  const has = (name: string): boolean =>
    typeof (db as object as Record<string, unknown> | undefined)?.[name] === "function";
  if (has("transaction") && has("query")) {
    return { connect: async () => new OwnedSession(db as TransactionRunner<Tx>) };
  }
  if (has("reserve")) {
    const from = db as ReservingDatabase<Tx & ReservedConnection>;
    return { connect: async () => new ReservedSession(await reserve(from), new Watch(from)) };
  }
  if (has("connect")) {
    const from = db as Database<Tx & Connection>;
    return { connect: async () => new PoolSession(await from.connect()) };
  }
  return undefined;
}
