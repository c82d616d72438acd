import type pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startReferenceServer } from "../../../examples/reference-server/start.js";
import { send } from "../../support/raw-http.js";
import { scenarios } from "./draft-conformance/scenarios.js";
import type { DraftServer } from "./draft-conformance/server.js";
import { syntax } from "./draft-conformance/syntax.js";
import { type Fixture, gate, makePool, startFixture } from "./fixture.js";
import { type Host, hosts } from "./http-hosts.js";

/*
 * https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-idempotency-key-header, the text of version 07: what it asks of
 * a server, seen from outside. What samekey adds to it stands in http-contract.test.ts.
 */

let fixture: Fixture;

beforeAll(async () => {
  fixture = await startFixture();
}, 60_000);

afterAll(() => fixture.stop());

type Closing = DraftServer & { close(): Promise<unknown> };

/** A server made with the library: each operation leaves one row. */
async function startHost(host: Host): Promise<Closing> {
  const held = new Map<string, { began: () => void; goOn: Promise<void> }>();
  const { url, close } = await host.start({
    db: fixture.pool,
    handlerTimeout: 30_000,
    bodyLimit: 100_000,
    tenant: () => "acct_1",
    async act({ tx, key }, body) {
      const holding = held.get(key);
      holding?.began();
      await holding?.goOn;
      if (body.toString() === '{"n":-1}') return { status: 402, body: "too little" };
      await tx.query("INSERT INTO effects (key) VALUES ($1)", [key]);
      return {
        status: 201,
        headers: [["content-type", "application/json"]],
        body: JSON.stringify({ id: Math.random() }),
      };
    },
    read: async () => (await fixture.pool.query("SELECT count(*)::text AS n FROM effects")).rows[0].n,
  });
  return {
    operation: `${url}/act`,
    reading: `${url}/act`,
    policy: `${url}/.well-known/idempotency`,
    body: (number) => JSON.stringify({ n: number }),
    refused: '{"n":-1}',
    done: (key) => fixture.effects(key),
    async during(key, first, meanwhile) {
      const [began, goOn] = [gate(), gate()];
      held.set(key, { began: began.open, goOn: goOn.passed });
      const answer = first();
      await began.passed;
      await meanwhile().finally(goOn.open);
      return answer;
    },
    close,
  };
}

/** `npm run server`: each operation moves money, and the ledger tells. */
async function startReference(): Promise<Closing> {
  const { url, close } = await startReferenceServer({ databaseUrl: fixture.url });
  const pool: pg.Pool = makePool(fixture.url, 2);
  return {
    operation: `${url}/transfers`,
    reading: `${url}/ledger?account=8842`,
    policy: `${url}/.well-known/idempotency`,
    body: (number) => JSON.stringify({ src: 8842, dst: 1190, amount: number }),
    refused: JSON.stringify({ src: 8842, dst: 1190, amount: 2_000_000_000 }),
    async done(key) {
      const ledger = await send(`${url}/ledger?account=8842`, { method: "GET" });
      return JSON.parse(ledger.body.toString()).entries.filter((entry: { key: string }) => entry.key === key).length;
    },
    async during(_key, first, meanwhile) {
      const locker = await pool.connect();
      await locker.query("BEGIN; SELECT 1 FROM accounts WHERE id = 8842 FOR UPDATE");
      const answer = first();
      const waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
      await expect.poll(async () => (await pool.query(waiting)).rowCount, { timeout: 20_000 }).toBeGreaterThan(0);
      await meanwhile().finally(async () => {
        await locker.query("COMMIT");
        locker.release();
      });
      return answer;
    },
    async close() {
      await close();
      await pool.end();
    },
  };
}

const servers: readonly (readonly [name: string, start: () => Promise<Closing>])[] = [
  ["the reference server", startReference],
  ...hosts.map((host) => [host.name, () => startHost(host)] as const),
];

describe.each(servers)("%s keeps to the draft:", (_, start) => {
  let server: Closing;

  beforeAll(async () => {
    server = await start();
  }, 60_000);

  afterAll(() => server?.close());

  const cases = [...syntax, ...scenarios].map(({ name, check }) => [name, check] as const);
  it.each(cases)("%s", (_name, check) => check(server));
});
