/** The statements that write. Each takes the sdk's name and its rows as one JSON document. */

import { ROW, WHOLE } from "./rows.js";
import type { Tables } from "./schema.js";

/** The columns that any change may change, but for those with a rule of their own. `reader` comes to them where there is one. */
const COLUMNS = "owner, origin, key, name, intent, lane, state, place, due, since, holder, kept, bare, record".split(
  ", ",
);

/** Made once for each store. */
export interface Statements {
  /** $2: rows, in order. Gives `id`, `seq` and `place` of those that nothing kept out. */
  readonly insert: string;
  /** $2: rows with what stood there. Gives `id` of those that were as expected. */
  readonly change: string;
  /** $2: seq. */
  readonly remove: string;
  /** Adds the differences up. */
  readonly fold: string;
  readonly clear: string;
  /** What reads whole records; ends where a condition on `o` begins, whose `$1` is the sdk's name. */
  readonly select: string;
}

export function statementsFor({ operations, counts, deltas, hasReader }: Tables): Statements {
  const reader = hasReader ? ["reader"] : [];
  const columns = [...COLUMNS, ...reader];
  const more = reader.map((name) => `, ${name}`).join("");
  return {
    // Who is behind another in its lane, be it in this statement, has no time of its own.
    insert: `
      with given as (select * from json_to_recordset($2::text::json) as g(ord integer, ${ROW})),
      placed as (
        select g.*, g.place = 0 and (
          row_number() over (partition by g.owner, g.lane, g.place order by g.ord) > 1 or exists (
            select from ${operations} f where f.sdk = $1 and f.owner = g.owner and f.lane = g.lane and f.place = 0
          )) as behind from given g
      ),
      added as (
        insert into ${operations} (sdk, rev, id, owner, origin, key, name, intent, lane, state, held, place, due, since,
          holder, kept, bare, record, request, response${more})
        select $1, 1, id, owner, origin, key, name, intent, lane, state, held, case when behind then 1 else place end,
          case when behind then null else due end, case when behind then null else since end, holder, kept, bare, record,
          decode(request, 'base64'), decode(response, 'base64')${more}
        from placed order by ord
        on conflict do nothing returning id, seq, place, owner, state
      ),
      ${tally(deltas, `select owner, state, 1 as n from added`)}
      select id, seq::text as seq, place from added`,

    change: `
      with given as (
        select * from json_to_recordset($2::text::json) as g(
          seq bigint, rev integer, whose text, was text, same_request boolean, same_response boolean, ${ROW})
      ),
      changed as (
        update ${operations} o set rev = o.rev + 1, ${columns.map((name) => `${name} = g.${name}`).join(", ")},
          held = coalesce(g.held, o.held),
          request = case when g.same_request then o.request else decode(g.request, 'base64') end,
          response = case when g.same_response then o.response else decode(g.response, 'base64') end
        from given g where o.seq = g.seq and o.rev = g.rev and o.id = g.id and o.sdk = $1
        returning o.id, o.owner, o.state, g.whose, g.was
      ),
      ${tally(deltas, "select owner, state, 1 as n from changed union all select whose, was, -1 from changed")}
      select id from changed`,

    remove: `
      with removed as (delete from ${operations} where sdk = $1 and seq = $2::bigint returning owner, state),
      ${tally(deltas, "select owner, state, -1 as n from removed")}
      select 1 from removed`,

    fold: `
      with lot as (
        delete from ${deltas} where id in (select id from ${deltas} where sdk = $1 order by id limit 10000)
        returning whose, state, n
      )
      insert into ${counts} as c (sdk, whose, state, n)
      select $1, whose, state, sum(n) from lot group by whose, state having sum(n) <> 0
      on conflict (sdk, whose, state) do update set n = c.n + excluded.n`,

    clear: `delete from ${counts} where sdk = $1 and n = 0`,

    select: `select ${WHOLE} from ${operations} o where o.sdk = $1 and`,
  };
}

/** Writes down by how much the counts differ, for each owner and for all. */
function tally(deltas: string, changes: string): string {
  return `tally as (
    insert into ${deltas} (sdk, whose, state, n)
    select $1, w.whose, c.state, sum(c.n) from (${changes}) c(owner, state, n)
    cross join lateral (values ('*'), ('=' || c.owner)) w(whose)
    group by w.whose, c.state having sum(c.n) <> 0
  )`;
}
