// The effect that everybody has: money from one account to another, in two statements.

export const ACCOUNTS = 10_000;

export async function createBank(query) {
  await query(`
    CREATE TABLE accounts (id int PRIMARY KEY, balance bigint NOT NULL CHECK (balance >= 0));
    CREATE TABLE ledger_entries (
      seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      kind text NOT NULL,
      account int NOT NULL,
      amount bigint NOT NULL,
      key text NOT NULL
    );
    CREATE INDEX ON ledger_entries (key);
    INSERT INTO accounts SELECT id, 1000000000 FROM generate_series(1, ${ACCOUNTS}) AS a (id);
  `);
}

export function randomTransfer() {
  const src = 1 + Math.floor(Math.random() * ACCOUNTS);
  return { src, dst: (src % ACCOUNTS) + 1, amount: 1 };
}

/** @param query - `(text, values) => Promise<{ rows }>` on the transaction's connection */
export async function transfer(query, key, { src, dst, amount }) {
  const { rows } = await query("SELECT id, balance FROM accounts WHERE id IN ($1, $2) ORDER BY id FOR UPDATE", [
    src,
    dst,
  ]);
  if (rows.length < 2) throw new Error("unknown account");
  await query(
    `WITH moved AS (
       UPDATE accounts SET balance = balance + CASE id WHEN $1 THEN -$3::bigint ELSE $3 END WHERE id IN ($1, $2)
     )
     INSERT INTO ledger_entries (kind, account, amount, key)
     VALUES ('transfer_out', $1, $3, $4), ('transfer_in', $2, $3, $4)`,
    [src, dst, amount, key],
  );
  return { src, dst, amount };
}
