import type { Pool } from "pg";
import { shardOf } from "./routing.js";

/** Tables of the bank: the same on every shard. */
const tables = `
CREATE TABLE IF NOT EXISTS shard (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  number integer NOT NULL,
  shards integer NOT NULL
);
CREATE TABLE IF NOT EXISTS accounts (
  id bigint PRIMARY KEY,
  balance bigint NOT NULL CHECK (balance >= 0)
);
CREATE TABLE IF NOT EXISTS ledger_entries (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  transfer uuid NOT NULL,
  kind text NOT NULL CHECK (kind IN ('transfer_out', 'transfer_in', 'transfer_back')),
  account bigint NOT NULL REFERENCES accounts,
  amount bigint NOT NULL CHECK (amount > 0),
  key text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (transfer, kind)
);
CREATE INDEX IF NOT EXISTS ledger_entries_account ON ledger_entries (account, seq);
CREATE TABLE IF NOT EXISTS credits (
  transfer uuid PRIMARY KEY,
  account bigint NOT NULL,
  amount bigint NOT NULL,
  refusal text,
  created_at timestamptz NOT NULL DEFAULT now()
);
`;

/** The funded accounts of a fresh bank, 8842 and 1190 among them. */
const accounts = [...Array.from({ length: 98 }, (_, index) => index + 1), 8842, 1190];

/** The database is another shard's, or one of another number of shards. */
export class WrongShard extends Error {}

/**
 * Creates what is missing. Servers that start at once take turns.
 *
 * @throws WrongShard
 */
export async function createBank(pool: Pool, number: number, shards: number): Promise<void> {
  await pool.query(`BEGIN; SELECT pg_advisory_xact_lock(20260101); ${tables} COMMIT`);
  await pool.query("INSERT INTO shard (number, shards) VALUES ($1, $2) ON CONFLICT DO NOTHING", [number, shards]);
  const { rows } = await pool.query("SELECT number, shards FROM shard");
  if (rows[0].number !== number || rows[0].shards !== shards) {
    const is = `shard ${rows[0].number} of ${rows[0].shards}`;
    throw new WrongShard(
      `the database is ${is}, not ${number} of ${shards}: its accounts would not be found. ` +
        `Set SHARDS=${rows[0].shards}, or take other databases (DATABASE_URL; without it, another PORT)`,
    );
  }
  await pool.query("INSERT INTO accounts (id, balance) SELECT unnest($1::bigint[]), 1000000 ON CONFLICT DO NOTHING", [
    accounts.filter((id) => shardOf(id, shards) === number),
  ]);
}
