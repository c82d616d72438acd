import type { Pool } from "pg";

/** Tables of the bank, and accounts 8842 and 1190 among a hundred funded ones. */
const bank = `
CREATE TABLE IF NOT EXISTS accounts (
  id bigint PRIMARY KEY,
  balance bigint NOT NULL CHECK (balance >= 0)
);
CREATE TABLE IF NOT EXISTS ledger_entries (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  transfer uuid NOT NULL,
  kind text NOT NULL CHECK (kind IN ('transfer_out', 'transfer_in')),
  account bigint NOT NULL REFERENCES accounts,
  amount bigint NOT NULL CHECK (amount > 0),
  key text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (transfer, kind)
);
CREATE INDEX IF NOT EXISTS ledger_entries_account ON ledger_entries (account, seq);
INSERT INTO accounts (id, balance)
  SELECT id, 1000000 FROM (SELECT generate_series(1, 98) UNION VALUES (8842), (1190)) AS a (id)
  ON CONFLICT DO NOTHING;
`;

/** Creates what is missing. Servers that start at once take turns. */
export async function createBank(pool: Pool): Promise<void> {
  await pool.query(`BEGIN; SELECT pg_advisory_xact_lock(20260101); ${bank} COMMIT`);
}
