import type pg from "pg";

/** What every account has at first. */
export const FUNDS = 1_000_000;

interface Entry {
  readonly transfer: string;
  readonly kind: "transfer_out" | "transfer_in" | "transfer_back";
  readonly account: number;
  readonly amount: number;
  readonly shard: number;
}

/** The books of all shards, each as of one moment. */
export interface Books {
  readonly entries: readonly Entry[];
  /** What the shards have yet to bring to each other, or brought. */
  readonly credits: readonly { readonly transfer: string; readonly state: string; readonly shard: number }[];
  readonly balance: number;
  /** Accounts that hold something else than their ledger says. */
  readonly wrong: number;
  /** Answers that are stored under a key. */
  readonly answers: number;
}

// One statement for each shard, as it sees one moment.
const page = `
SELECT
  (SELECT coalesce(json_agg(e), '[]') FROM (SELECT transfer, kind, account, amount FROM ledger_entries) AS e) AS entries,
  (SELECT coalesce(json_agg(o), '[]') FROM (SELECT intent AS transfer, state FROM samekey.operations) AS o) AS credits,
  (SELECT sum(balance)::float8 FROM accounts) AS balance,
  (SELECT count(*)::int FROM accounts AS a WHERE balance <> ${FUNDS} + (
    SELECT coalesce(sum(CASE kind WHEN 'transfer_out' THEN -amount ELSE amount END), 0)
      FROM ledger_entries AS e WHERE e.account = a.id)) AS wrong,
  (SELECT count(*)::int FROM samekey.keys) AS answers`;

export async function readBooks(shards: readonly pg.Pool[]): Promise<Books> {
  const pages = await Promise.all(shards.map(async (pool) => (await pool.query(page)).rows[0]));
  const numbered = (list: "entries" | "credits") =>
    pages.flatMap((one, shard) => one[list].map((row: object) => ({ ...row, shard })));
  const sum = (of: "balance" | "wrong" | "answers"): number => pages.reduce((all, one) => all + one[of], 0);
  return {
    entries: numbered("entries"),
    credits: numbered("credits"),
    balance: sum("balance"),
    wrong: sum("wrong"),
    answers: sum("answers"),
  };
}

/** What was taken and has neither arrived nor come back; less than nothing where a book was read before that of its source. */
export function underWay({ entries }: Books): number {
  return entries.reduce((left, { kind, amount }) => left + (kind === "transfer_out" ? amount : -amount), 0);
}

/** What is wrong at this moment, whatever is under way; nothing, if all is well. */
export function faultsIn(books: Books): string[] {
  const { entries, credits, wrong } = books;
  const faults: string[] = [];
  const known = new Set<string>();
  const at = (transfer: string, kind: string, shard: number | string): string => `${transfer} ${kind} ${shard}`;
  for (const { transfer, kind, shard } of entries) {
    const where = kind === "transfer_out" ? "start" : "end";
    if (known.has(at(transfer, where, ""))) faults.push(`transfer ${transfer} has a second ${kind}`);
    known.add(at(transfer, where, "")).add(at(transfer, kind, shard));
  }
  const recorded = new Set(credits.map(({ transfer, shard }) => at(transfer, "credit", shard)));
  for (const { transfer, kind, shard } of entries) {
    const isOwed = kind === "transfer_out" && !known.has(at(transfer, "transfer_in", shard));
    if (isOwed && !recorded.has(at(transfer, "credit", shard))) faults.push(`nobody is to credit transfer ${transfer}`);
  }
  for (const { transfer, shard } of credits) {
    if (!known.has(at(transfer, "transfer_out", shard)))
      faults.push(`transfer ${transfer} is credited, but not debited`);
  }
  if (wrong > 0) faults.push(`${wrong} accounts hold something else than their ledger says`);
  return faults;
}
