import { closeSync, fsyncSync, openSync } from "node:fs";
import Database from "better-sqlite3";

/**
 * Fills a store's file by SQL, which is much faster than recording: copies one operation `n` times, each copy with an id
 * and a key of its own, and with an intent if it has one. Synced at the end only.
 */
export function multiply(path, id, n) {
  const db = new Database(path);
  db.exec("pragma journal_mode = off; pragma synchronous = off; pragma cache_size = -262144");
  const model = db.prepare("select seq, key, intent from operations where id = ?").get(id);
  const columns = db
    .prepare("select name from pragma_table_info('operations')")
    .all()
    .map(({ name }) => name)
    .filter((name) => !["seq", "id", "key", "intent", "record"].includes(name));
  const first = db.prepare("select max(seq) + 1 as first from operations").get().first;
  // Ascending, as keys minted one after the other are.
  const named = (kind) => `printf('01900000-${kind}-7000-8000-%012x', n)`;
  const intent = "printf('order-%d', n)";
  db.exec("begin");
  db.prepare(`
    with recursive numbers (n) as (select ${first} union all select n + 1 from numbers where n < ${first + n - 1})
    insert into operations (seq, id, key, intent, record, ${columns})
    select n, ${named("000a")}, ${named("000b")}, case when intent is not null then ${intent} end,
      replace(replace(replace(record, id, ${named("000a")}), key, ${named("000b")}),
        '"intent":"' || coalesce(intent, '') || '"', '"intent":"' || ${intent} || '"'), ${columns}
    from numbers, operations where operations.seq = ?`).run(model.seq);
  db.prepare(`
    insert into requests select operations.seq, body
    from operations, requests where operations.seq >= ? and requests.seq = ?`).run(first, model.seq);
  for (const whose of ["'*'", "'=' || owner"]) {
    db.prepare(`
      insert into counts select ${whose}, state, ? from operations where seq = ?
      on conflict do update set n = n + excluded.n`).run(n, model.seq);
  }
  db.exec("commit; pragma journal_mode = wal");
  db.close();
  // Or whoever is measured next pays for it with the first sync of his own.
  const file = openSync(path, "r+");
  fsyncSync(file);
  closeSync(file);
}
