import { randomUUID } from "node:crypto";
import pg from "pg";
import postgres from "postgres";
import { webCryptoSeal } from "../../src/seal.js";
import type { Store } from "../../src/store.js";
import type { PostgresConnection, PostgresJs, PostgresPool } from "../../src/stores/postgres.js";
import { postgresStore } from "../../src/stores/postgres.js";
import type { ContractHarness, ContractSubject, SyncLevel } from "../../src/testing/store-contract.js";
import { clock } from "../support/records.js";

/** Stores of a name of their own for every case, in tables that all cases share. */
async function subject(
  pool: PostgresPool | PostgresJs,
  schema = "the contract's",
  within = (store: Store): Store => store,
): Promise<ContractSubject> {
  const name = `case ${randomUUID()}`;
  const handles: Store[] = [];
  const open = async (): Promise<Store> => {
    const store = within(postgresStore({ pool, schema }));
    handles.push(store);
    await store.open({ name, clock });
    return store;
  };
  const closeAll = async () => {
    await Promise.all(handles.splice(0).map((store) => store.close()));
  };
  return {
    store: await open(),
    second: open,
    async reopen() {
      await closeAll();
      return open();
    },
    destroy: closeAll,
  };
}

/** A harness, and the end of its pool. */
export type PooledHarness = ContractHarness & { end(): Promise<void> };

/** Through pg, which is listened to. */
export function pgHarness(url: string): PooledHarness {
  const pool = new pg.Pool({ connectionString: url, max: 3 });
  // The database may end before the pool has let go of its connections; unheard, that would fail the tests.
  pool.on("error", () => {});
  return {
    async create() {
      const spy = new Spy(pool);
      return {
        ...(await subject(spy)),
        lastSync: () => spy.committed,
        async breakReads() {
          spy.broken = true;
        },
      };
    },
    end: () => pool.end(),
  };
}

/** Through pg, what is in it sealed. */
export function sealedHarness(url: string, schema: string): PooledHarness {
  const pool = new pg.Pool({ connectionString: url, max: 3 });
  pool.on("error", () => {});
  const seal = webCryptoSeal({ key: new Uint8Array(32).fill(1) });
  return {
    async create() {
      const spy = new Spy(pool);
      return { ...(await subject(spy, schema, (store) => asClient(seal.over(store)))), lastSync: () => spy.committed };
    },
    end: () => pool.end(),
  };
}

/** Answers are sealed before the change that brings them, as the client does it. */
function asClient(store: Store): Store {
  const update: Store["update"] = async (id, apply, base) => {
    const found = await store.get(id);
    const clear = found && apply(found)?.response;
    const isNew = clear && clear !== found.response && !clear.pruned;
    const sealed = isNew ? await store.sealing?.response(id, clear) : undefined;
    const change: typeof apply = (record) => {
      const after = apply(record);
      return sealed && after?.response && after.response !== record.response ? { ...after, response: sealed } : after;
    };
    return store.update(id, change, base);
  };
  return new Proxy(store, {
    get: (target, name) => {
      const member: unknown = name === "update" ? update : Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}

/** Through postgres.js. */
export function postgresJsHarness(url: string): PooledHarness {
  const sql = postgres(url, { max: 3, onnotice: () => {} });
  return { create: () => subject(sql), end: () => sql.end() };
}

/** Listens to what connections are told, and asks Postgres itself how it is about to commit. */
class Spy implements PostgresPool {
  /** How the last transaction that wrote was committed. */
  committed: SyncLevel | undefined;
  /** Statements that read or write rows fail from now on. */
  broken = false;
  readonly #pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  async connect(): Promise<PostgresConnection> {
    const client = await this.#pool.connect();
    return {
      release: (destroy) => client.release(destroy),
      query: async (text, values) => {
        if (this.broken && values) throw Object.assign(new Error("could not read block 7"), { code: "58030" });
        if (!text.endsWith("commit")) return client.query(text, values);
        const settings = text.slice(0, -"commit".length);
        if (settings) await client.query(settings);
        const { rows } = await client.query(
          "select pg_current_xact_id_if_assigned() as xid, current_setting('synchronous_commit') as sync",
        );
        if (rows[0].xid !== null) this.committed = rows[0].sync === "on" ? "strict" : "relaxed";
        return client.query("commit");
      },
    };
  }
}
