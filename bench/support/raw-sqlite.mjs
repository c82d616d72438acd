/**
 * The limit of the SQLite store: better-sqlite3 by hand, on the store's own tables. It builds the same rows from the
 * same parts and commits them with the same sync; it has no queue, no promise and no question asked.
 */
import assert from "node:assert/strict";
import Database from "better-sqlite3";
import { openSdk } from "./sdk.mjs";
import { uuid } from "./transfer.mjs";

export const url = "http://127.0.0.1:1/transfers";
const encoder = new TextEncoder();

/** Lets samekey create the file and record one operation, so that ours can be held against it. */
async function prepare(dist, path, body) {
  const sdk = await openSdk(dist, path, { baseUrl: new URL(url).origin });
  await sdk.operation("transfer", body).save();
  await sdk.close();
}

/** A record as samekey builds it for a call without intent or lane. */
function recordOf(seq, now) {
  const key = uuid(now);
  return {
    seq,
    rev: 1,
    v: 1,
    id: uuid(now),
    key,
    keyAt: now,
    name: "transfer",
    owner: "single",
    origin: "http://127.0.0.1:1",
    request: {
      method: "POST",
      url,
      headers: { accept: "application/json" },
      dropped: [],
      body: {},
      contentType: "application/json",
      compare: "json",
    },
    wire: {
      place: "header",
      name: "idempotency-key",
      value: key,
      quoted: false,
      mint: "v7",
      retention: 86_400_000,
      redirect: "same-origin",
      dedupes: true,
    },
    state: "pending",
    attempts: 0,
    timeouts: 0,
    history: [],
    createdAt: now,
    nextAttemptAt: now,
    delay: 0,
    fence: 0,
    delivered: false,
  };
}

const columns = ["seq", "rev", "id", "record", "owner", "origin", "key", "name", "state", "held", "due", "since"];

/** Opens a fresh file for raw inserts: `insert(bodies)` commits them together, synced. */
export async function rawSqlite(dist, path, sample) {
  await prepare(dist, path, sample);
  const db = new Database(path);
  db.exec("pragma journal_mode = wal; pragma synchronous = full; pragma journal_size_limit = 67108864");
  const operation = db.prepare(
    `insert into operations (${columns.join(", ")}) values (${columns.map(() => "?").join(", ")})`,
  );
  const request = db.prepare("insert into requests values (?, ?)");
  const count = db.prepare("insert into counts values (?, 'pending', ?) on conflict do update set n = n + excluded.n");

  function add(seq, body) {
    const now = Date.now();
    const bytes = encoder.encode(JSON.stringify(body));
    const record = recordOf(seq, now);
    const { rev, id, owner, origin, key, name, state } = record;
    operation.run(seq, rev, id, JSON.stringify(record), owner, origin, key, name, state, 1, now, now);
    request.run(seq, bytes);
  }

  function insert(bodies) {
    db.exec("begin immediate");
    let seq = db.prepare("select max(seq) as last from operations").get().last;
    for (const body of bodies) add(++seq, body);
    for (const whose of ["*", "=single"]) count.run(whose, bodies.length);
    db.exec("commit");
  }

  insert([sample]);
  assertSame(db);
  return { insert, close: () => db.close() };
}

/** The comparison is worth something only as long as both write the same. */
function assertSame(db) {
  const shape = (seq) => {
    const row = db.prepare("select o.*, body from operations o join requests using (seq) where seq = ?").get(seq);
    const { id, key, due, since, seq: _, record, body, ...rest } = row;
    return { ...rest, record: shapeOf(JSON.parse(record)), body: body.toString() };
  };
  assert.deepEqual(shape(2), shape(1), "the raw rows are no longer those that the store writes");
}

const shapeOf = (value) =>
  typeof value === "object" && value !== null
    ? Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shapeOf(member)]))
    : typeof value;
