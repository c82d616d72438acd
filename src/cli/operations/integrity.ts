/** What has to hold in a store, whatever is in it. */

import { setImmediate } from "node:timers/promises";
import { pages } from "../../client/pages.js";
import { sealedText } from "../../client/sealed.js";
import { renderKey } from "../../core/key.js";
import {
  holdsIntent,
  isSettled,
  keyOfSealedHash,
  type OperationRecord,
  STATES,
  type State,
} from "../../core/record.js";
import type { Sdk } from "../../index.node.js";
import type { Store } from "../../store.js";
import { loadDriver } from "../../stores/sqlite/driver.js";
import { isBusy } from "../../stores/sqlite/failure.js";

/** Something that is not as it should be. */
export interface Fault {
  readonly id?: string;
  readonly what: string;
}

/** Looks at every record, and at what the store has counted. */
export async function* faultsOf(store: Store, onStep: (seen: number) => void): AsyncGenerator<Fault> {
  const before = await store.counts();
  const tally = new Map<State, number>();
  let seen = 0;
  for await (const records of pages(store, { limit: 100 })) {
    for (const record of records) {
      tally.set(record.state, (tally.get(record.state) ?? 0) + 1);
      for (const what of faultsOfRecord(record)) yield { id: record.id, what };
      if (record.intent === undefined || !holdsIntent(record)) continue;
      const found = await store.find(record.owner, record.name, record.intent);
      if (found && found.id !== record.id && holdsIntent(found) && (await store.get(record.id))?.rev === record.rev) {
        yield { id: record.id, what: `its intent is held by ${found.id} as well` };
      }
    }
    seen += records.length;
    onStep(seen);
    await setImmediate();
  }
  const after = await store.counts();
  for (const state of STATES) {
    const counted = after[state] ?? 0;
    // A program at work changes them meanwhile.
    if (counted === (before[state] ?? 0) && counted !== (tally.get(state) ?? 0)) {
      yield { what: `${counted} are counted as ${state}, and ${tally.get(state) ?? 0} are there` };
    }
  }
}

function* faultsOfRecord(record: OperationRecord): Generator<string> {
  const { key, wire, state, settledAt, request, hash, mark, uncertainSince, sentAt, origin } = record;
  if (!STATES.includes(state)) yield `its state is ${JSON.stringify(state)}`;
  if (wire.value !== renderKey(key, wire.quoted)) yield "its key is not the one that is sent";
  if (isSettled(record) && settledAt === undefined) yield "it is settled, and nobody knows since when";
  if (!isSettled(record) && hash !== undefined && request.body === undefined)
    yield "it is to be sent, and its body is gone";
  if ((mark !== undefined || uncertainSince !== undefined) && sentAt === undefined) {
    yield "it may have been applied, and was never sent";
  }
  if (!URL.canParse(request.url) || new URL(request.url).origin !== origin) yield "its URL is not at its origin";
}

/** What the seal of a program's Sdk cannot open. */
export async function* faultsOfSeal(sdk: Pick<Sdk, "list">): AsyncGenerator<Fault> {
  for await (const { id, request, response, hash } of sdk.list({ owner: "*" })) {
    if (request.sealed) yield { id, what: sealedText("its body", request.sealed) };
    if (response?.sealed) yield { id, what: sealedText("its answer", response.sealed) };
    const key = keyOfSealedHash(hash);
    if (key !== undefined)
      yield { id, what: `the hash of its body is sealed under key ${JSON.stringify(key)}, and does not open` };
  }
}

/** What SQLite itself finds in the file. */
export async function* faultsOfFile(path: string): AsyncGenerator<Fault> {
  const db = (await loadDriver(undefined))(path);
  try {
    db.exec("pragma busy_timeout = 5000; pragma query_only = on");
    for (const row of db.prepare("pragma integrity_check(20)").all()) {
      const what = String(Object.values(row as object)[0]);
      if (what !== "ok") yield { what };
    }
  } catch (error) {
    if (isBusy(error)) throw error;
    yield { what: (error as Error).message };
  } finally {
    db.close();
  }
}
