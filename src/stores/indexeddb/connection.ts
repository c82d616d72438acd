import { promisifyRequest } from "idb-keyval";
import { faultPoint } from "../../core/fault-point.js";
import { StoreError } from "../../errors.js";
import type { Clock } from "../../store.js";
import { hasCanary, plantCanary } from "./canary.js";
import { withDeadline } from "./deadline.js";
import { COUNTS, OPERATIONS, upgrade, VERSION } from "./schema.js";

/** Plain data, so that two copies of this package can share it. */
interface Shared {
  users: number;
  /** Never a rejected one: what failed once may work the next time. */
  database: Promise<IDBDatabase> | undefined;
  reset: boolean;
}

const realmKey = Symbol.for("samekey.indexeddb");

function realm(): Map<string, Shared> {
  const global = globalThis as { [realmKey]?: Map<string, Shared> };
  global[realmKey] ??= new Map();
  return global[realmKey];
}

/** A share in the one connection that this realm has to a database. */
export class Connection {
  readonly #name: string;
  readonly #clock: Clock;
  readonly #shared: Shared;

  constructor(name: string, clock: Clock) {
    this.#name = `samekey:${name}`;
    this.#clock = clock;
    this.#shared = realm().get(this.#name) ?? { users: 0, database: undefined, reset: false };
    this.#shared.users++;
    realm().set(this.#name, this.#shared);
  }

  /** The database was found empty although it once held records: the browser, or a person, has cleared it. */
  get reset(): boolean {
    return this.#shared.reset;
  }

  /** The open database, opened now if need be. */
  database(): Promise<IDBDatabase> {
    this.#shared.database ??= this.#open();
    return this.#shared.database;
  }

  /** Lets go of a database that no longer works; the next use opens it again. */
  drop(database: Promise<IDBDatabase>): void {
    if (this.#shared.database === database) this.#shared.database = undefined;
    database.then(
      (it) => it.close(),
      () => {},
    );
  }

  plantCanary(): void {
    plantCanary(this.#name);
  }

  release(): void {
    this.#shared.users--;
    if (this.#shared.users > 0) return;
    realm().delete(this.#name);
    if (this.#shared.database) this.drop(this.#shared.database);
  }

  #open(): Promise<IDBDatabase> {
    const found = this.#find();
    const opening: Promise<IDBDatabase> = withDeadline(this.#clock, found, () => {
      // It may still open, when nobody waits for it any more; open, it would stand in the way of others.
      found.then((it) => it.close()).catch(() => {});
      throw new StoreError("stalled", { detail: `${this.#name} did not open; another tab may hold an older version` });
    });
    opening.then(
      (it) => {
        it.onclose = it.onversionchange = () => this.drop(opening);
      },
      () => this.drop(opening),
    );
    return opening;
  }

  async #find(): Promise<IDBDatabase> {
    const database = await this.#request(VERSION).catch((error) => {
      if (error?.name !== "VersionError") throw error;
      return this.#request();
    });
    const { version, objectStoreNames } = database;
    const missing = !objectStoreNames.contains(OPERATIONS) || !objectStoreNames.contains(COUNTS);
    const newer = Math.floor(version / 100) > Math.floor(VERSION / 100);
    if (!newer && !missing) return database;
    database.close();
    if (newer) throw new StoreError("newer_schema", { detail: `${this.#name} has version ${version}` });
    return this.#request(version + 1);
  }

  #request(version?: number): Promise<IDBDatabase> {
    if (!globalThis.indexedDB) throw new StoreError("unavailable", { detail: "there is no IndexedDB here" });
    const request = indexedDB.open(this.#name, version);
    request.onupgradeneeded = ({ oldVersion }) => {
      FAULT: faultPoint("migrate:begun");
      upgrade(request.result);
      FAULT: faultPoint("migrate:tables");
      if (oldVersion === 0 && hasCanary(this.#name)) this.#shared.reset = true;
    };
    return promisifyRequest(request);
  }
}
