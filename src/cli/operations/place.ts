/** Which operations a verb works on: a file, a database, or what a program's own Sdk has. */

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Command } from "commander";
import type { Pool } from "pg";
import { bad } from "../../core/checks.js";
import { createSdk, type Sdk } from "../../index.node.js";
import { realClock } from "../../platform/real-clock.js";
import type { Store } from "../../store.js";
import { postgresStore } from "../../stores/postgres.js";
import { defaultPath } from "../../stores/sqlite/place.js";
import { sqliteStore } from "../../stores/sqlite.js";
import { openPool } from "../database.js";
import { knownNames } from "./known-names.js";

/** The options of every verb that works on operations. */
export interface PlaceOptions {
  readonly file?: string;
  readonly name?: string;
  readonly databaseUrl?: string;
  readonly schema: string;
}

/** Those of a verb that can work through the program's own Sdk. */
export interface SdkPlaceOptions extends PlaceOptions {
  readonly sdk?: string;
}

/** An opened place. */
export interface Place {
  readonly store: Store;
  /** Works on every owner's records, and sends nothing: nobody is signed in. */
  readonly sdk: Sdk;
  /** The file, where it is one. */
  readonly file: string | undefined;
}

/** Adds them. */
export function withPlace(command: Command): Command {
  return command
    .option("--file <path>", "the SQLite file")
    .option("--name <name>", "the sdk's name: its file in the default directory, or its operations in the database")
    .option("--database-url <url>", "the Postgres database that holds them, with --name (default: DATABASE_URL)")
    .option("--schema <name>", "the schema that the tables live in", "samekey")
    .option("--verbose", "show where an error comes from");
}

/** The place as options on a command line; not the database's URL, which may hold a password. */
export function placeWords({ file, name, schema, databaseUrl }: PlaceOptions): string {
  const words = [
    file !== undefined && `--file ${quoted(file)}`,
    name !== undefined && `--name ${quoted(name)}`,
    databaseUrl !== undefined && "--database-url …",
    schema !== "samekey" && `--schema ${quoted(schema)}`,
  ];
  return words.filter(Boolean).join(" ");
}

/** For a shell. */
const quoted = (text: string): string => (/^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** Lends the place that the options name to `work`. A file that is not there is refused, but by who `makes` it. */
export async function inPlace<T>(options: PlaceOptions, work: (place: Place) => Promise<T>, makes = false): Promise<T> {
  const { file, name } = options;
  const url = options.databaseUrl ?? (file === undefined ? process.env["DATABASE_URL"] || undefined : undefined);
  if (file !== undefined && options.databaseUrl !== undefined) bad("give either --file or --database-url");
  if (url !== undefined) {
    if (name === undefined) bad("--name is missing: one database may hold the operations of several sdks");
    const pool: Pool = await openPool(url);
    try {
      return await lend(postgresStore({ pool, schema: options.schema }), name, undefined, work);
    } finally {
      await pool.end();
    }
  }
  if (file === undefined && name === undefined) {
    const ways = "--file, --name, or --database-url (or DATABASE_URL) with --name";
    bad(`where are the operations? Give ${ways}; ${knownNames()}`);
  }
  const path = file === undefined ? defaultPath(name as string) : resolve(file);
  // To open it would be to make it.
  if (!makes && !existsSync(path)) bad(`there is no file ${path}${file === undefined ? `; ${knownNames()}` : ""}`);
  return lend(sqliteStore({ path }), name ?? "samekey", path, work);
}

/** Lends the program's Sdk where `--sdk` names one, else one without operations or credentials. */
export async function withSdk<T>(options: SdkPlaceOptions, work: (sdk: Sdk) => Promise<T>): Promise<T> {
  if (options.sdk === undefined) return inPlace(options, ({ sdk }) => work(sdk));
  const sdk = await loadSdk(options.sdk);
  try {
    return await work(sdk);
  } finally {
    await sdk.close();
  }
}

/** @throws MisuseError `bad_option` when the module's default export is no Sdk */
export async function loadSdk(path: string): Promise<Sdk> {
  const full = resolve(path);
  if (!existsSync(full)) bad(`--sdk: there is no file ${full}`);
  const { default: sdk } = (await import(pathToFileURL(full).href)) as { default?: Partial<Sdk> };
  if (typeof sdk?.operation !== "function" || typeof sdk.resume !== "function") {
    bad(`--sdk: the default export of ${full} is not an Sdk. Write \`export default createSdk({ … })\``);
  }
  return sdk as Sdk;
}

async function lend<T>(
  store: Store,
  name: string,
  file: string | undefined,
  work: (place: Place) => Promise<T>,
): Promise<T> {
  const sdk = createSdk({ name, store, owner: () => undefined, retention: "24h" });
  try {
    await store.open({ name, clock: realClock });
    return await work({ store, sdk, file });
  } finally {
    await sdk.close();
  }
}
