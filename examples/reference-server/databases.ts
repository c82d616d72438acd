import pg from "pg";

/**
 * A database for each shard: those given, separated by commas, or, beside a single one, as many more as it takes, which
 * are created.
 *
 * @param shards - how many; by default as many as were given
 * @throws Error if the two do not fit
 */
export async function databasesFor(given: string, shards: string | undefined): Promise<string[]> {
  const urls = given.split(",");
  const count = shards ? Number(shards) : urls.length;
  if (!Number.isInteger(count) || count < 1) throw new Error(`SHARDS is ${shards}, expected 1 or more`);
  if (urls.length === count) return urls;
  const [first = ""] = urls;
  if (urls.length > 1) throw new Error(`SHARDS is ${count}, but DATABASE_URL names ${urls.length} databases`);
  const names = Array.from({ length: count - 1 }, (_, index) => `${nameOf(first)}_${index + 1}`);
  await create(first, names);
  return [first, ...names.map((name) => beside(first, name))];
}

async function create(url: string, names: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    for (const name of names) {
      // Another server may do the same at the same time: 42P04 and 23505 say that it was first.
      await client.query(`CREATE DATABASE ${client.escapeIdentifier(name)}`).catch((error) => {
        if (!["42P04", "23505"].includes(error.code)) throw error;
      });
    }
  } finally {
    await client.end();
  }
}

const nameOf = (url: string): string => decodeURIComponent(new URL(url).pathname.slice(1)) || "postgres";

function beside(url: string, name: string): string {
  const other = new URL(url);
  other.pathname = `/${encodeURIComponent(name)}`;
  return other.href;
}
