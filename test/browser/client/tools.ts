/** What the tests of the client in a page share. */

import { createSdk, post, type SdkOptions } from "samekey";
import { createMockServer, type MockServer } from "samekey/testing";
import { onTestFinished } from "vitest";
import { freshName } from "../../contract/indexeddb.tools.js";

export interface Transfer {
  readonly amount: number;
}

export interface Receipt {
  readonly id: string;
}

const operations = { transfer: post<Transfer, Receipt>("/transfers") };

/** An Sdk over the default store, closed after the test, and the API that it talks to. */
export function openSdk(options: Partial<SdkOptions> = {}, server: MockServer = createMockServer()) {
  const sdk = createSdk({
    name: freshName(),
    owner: "single",
    retention: "24h",
    baseUrl: server.baseUrl,
    fetch: server.fetch,
    retry: { base: 10, cap: 50 },
    ...options,
    operations,
  });
  onTestFinished(() => sdk.close({ timeout: 0 }));
  return { sdk, server };
}

/** Every key and value that stands in the object stores of a database. */
export async function dump(name: string): Promise<unknown[]> {
  const database = await result(indexedDB.open(`samekey:${name}`));
  const found: unknown[] = [];
  for (const store of database.objectStoreNames) {
    const rows = database.transaction(store).objectStore(store);
    found.push(...(await result(rows.getAll())), ...(await result(rows.getAllKeys())));
  }
  database.close();
  return found;
}

function result<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** All text in a value: strings, names of fields, and bytes read as text. */
export function textOf(value: unknown): string {
  if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) return new TextDecoder().decode(value);
  if (value instanceof Map) return textOf([...value]);
  if (typeof value !== "object" || value === null) return String(value);
  return Object.entries(value)
    .map(([name, field]) => `${name} ${textOf(field)}`)
    .join("\n");
}

export const later = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
