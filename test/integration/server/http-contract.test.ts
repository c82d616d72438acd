import type pg from "pg";
import { afterAll, beforeAll, describe, it } from "vitest";
import { type Fixture, startFixture } from "./fixture.js";
import { cases } from "./http-conformance/cases.js";
import { bodyLimit, effect, handlerTimeout, type Target } from "./http-conformance/target.js";
import { type Act, type Host, hosts } from "./http-hosts.js";

let fixture: Fixture;

beforeAll(async () => {
  fixture = await startFixture();
  await fixture.pool.query(
    "CREATE TABLE late (key text UNIQUE DEFERRABLE INITIALLY DEFERRED); INSERT INTO late VALUES ('taken')",
  );
}, 60_000);

afterAll(() => fixture.stop());

async function startTarget(host: Host): Promise<Target & { close(): Promise<unknown> }> {
  const acts = new Map<string, Act>();
  let connections = 0;
  const db = {
    connect(): Promise<pg.PoolClient> {
      connections += 1;
      return fixture.pool.connect();
    },
  };
  const usual = effect({ status: 201, headers: [["content-type", "application/json"]], body: '{"ok":true}' });
  const act: Act = (execution, body) => (acts.get(execution.key) ?? usual)(execution, body);
  const server = await host.start({ db, act, handlerTimeout, bodyLimit });
  return {
    ...server,
    pool: fixture.pool,
    on: (key, does) => acts.set(key, does),
    effects: (key) => fixture.effects(key),
    connections: () => connections,
  };
}

describe.each(hosts)("$name", (host) => {
  let target: Awaited<ReturnType<typeof startTarget>>;

  beforeAll(async () => {
    target = await startTarget(host);
  });

  afterAll(() => target.close());

  const named = cases.map(({ name, check }) => [name, check] as const);
  it.each(named)("%s", (_name, check) => check(target));
});
