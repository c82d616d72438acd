import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import pg from "pg";
import { v7 } from "uuid";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MisuseError } from "../../../src/errors.js";
import {
  type Answer,
  createIdempotency,
  derive,
  type Handler,
  type Idempotency,
  type KeySource,
  type Seal,
} from "../../../src/server/index.js";
import { sortableKey } from "../../../src/server/key.js";
import { drivers, type OpenDriver, ownConnections } from "./drivers.js";
import {
  created,
  effect,
  effectOn,
  errorOf,
  type Fixture,
  gate,
  header,
  request,
  startFixture,
  text,
} from "./fixture.js";

let fixture: Fixture;

beforeAll(async () => {
  fixture = await startFixture();
}, 60_000);

afterAll(() => fixture.stop());

const row = async (key: string) =>
  (
    await fixture.pool.query("SELECT status, headers, body, body_omitted FROM samekey.keys WHERE key = $1", [
      sortableKey(key),
    ])
  ).rows[0];

describe("a body over the cap", () => {
  const large = {
    status: 201,
    headers: { "content-type": "text/csv", location: "/reports/1", etag: '"1"' },
    body: "x".repeat(101),
  };
  let engine: Idempotency<pg.PoolClient>;

  beforeAll(() => {
    engine = createIdempotency({ db: fixture.pool, retention: "24h", maxStoredBody: 100 });
  });

  it("reaches the first request; replays keep the status, say what is missing, and run nothing", async () => {
    const key = v7();
    const first = await engine.run(request(key), effect(large));
    expect(first).toMatchObject({ kind: "executed", status: 201 });
    expect(text(first)).toBe(large.body);
    expect(await row(key)).toMatchObject({ status: 201, body: null, body_omitted: true });

    const again = await engine.run(request(key), () => expect.unreachable());
    expect(again).toMatchObject({ kind: "replayed", status: 201 });
    expect(header(again, "idempotency-body")).toBe("omitted");
    expect(header(again, "idempotency-status")).toBe("replayed");
    expect(header(again, "location")).toBe("/reports/1");
    // What it says of itself must fit the body that is there, and neither be taken for the data nor for a failure.
    expect(header(again, "content-type")).toBe("application/vnd.samekey.omitted+json");
    expect(header(again, "etag")).toBeUndefined();
    expect(JSON.parse(text(again))).toMatchObject({ omitted: true, status: 201 });
    expect(await fixture.effects(key)).toBe(1);
  });

  it("is a matter of bytes, to the byte", async () => {
    const key = v7();
    await engine.run(request(key), effect({ ...large, body: `${"x".repeat(98)}é` }));
    expect(await row(key)).toMatchObject({ body_omitted: false });
  });

  it("keeps its refusal, too", async () => {
    const key = v7();
    await engine.run(request(key), effect({ ...large, status: 402 }));
    expect(await engine.run(request(key), () => expect.unreachable())).toMatchObject({ kind: "replayed", status: 402 });
    expect(await fixture.effects(key)).toBe(0);
  });
});

// F107
describe("a sealed body", () => {
  const secret = randomBytes(32);
  const bound = ({ tenant, scope, key }: KeySource): Buffer => Buffer.from(JSON.stringify([tenant, scope, key]));
  const seal: Seal = {
    seal(body, source) {
      const iv = randomBytes(12);
      const cipher = createCipheriv("aes-256-gcm", secret, iv).setAAD(bound(source));
      const sealed = Buffer.concat([cipher.update(body), cipher.final()]);
      return Buffer.concat([iv, cipher.getAuthTag(), sealed]);
    },
    async open(sealed, source) {
      const decipher = createDecipheriv("aes-256-gcm", secret, sealed.subarray(0, 12)).setAAD(bound(source));
      decipher.setAuthTag(sealed.subarray(12, 28));
      return Buffer.concat([decipher.update(sealed.subarray(28)), decipher.final()]);
    },
  };
  const token: Answer = { status: 201, headers: { "content-type": "text/plain" }, body: "one-time-secret" };

  it("is not to be read in the table, and is opened for the replay", async () => {
    const key = v7();
    expect(text(await fixture.engine.run(request(key), effect(token), { seal }))).toBe("one-time-secret");
    expect((await row(key)).body.toString("latin1")).not.toContain("secret");
    const again = await fixture.engine.run(request(key), () => expect.unreachable(), { seal });
    expect(again).toMatchObject({ kind: "replayed", status: 201 });
    expect(text(again)).toBe("one-time-secret");
    expect(again.headers.map(([name]) => name)).toEqual(["content-type", "idempotency-status", "idempotency-replayed"]);
  });

  it.each<[string, Seal | undefined]>([
    ["that does not open", { ...seal, open: () => Promise.reject(new Error("no key")) }],
    ["that opens to nothing", { ...seal, open: () => "text" as never }],
    ["whose route has no seal any more", undefined],
  ])("%s is a 500, unmarked, and runs nothing again", async (_, other) => {
    const key = v7();
    await fixture.engine.run(request(key), effect(token), { seal });
    const again = await fixture.engine.run(request(key), () => expect.unreachable(), { seal: other });
    expect(again).toMatchObject({ kind: "unavailable", status: 500, cause: expect.any(Error) });
    expect(errorOf(again)).toBe("answer_unreadable");
    expect(header(again, "idempotency-status")).toBeUndefined();
    expect(await fixture.effects(key)).toBe(1);
  });

  it("that cannot be sealed undoes everything", async () => {
    const key = v7();
    const broken: Seal = { ...seal, seal: () => Promise.reject(new Error("no key service")) };
    await expect(fixture.engine.run(request(key), effect(token), { seal: broken })).rejects.toThrow("no key service");
    expect(await fixture.effects(key)).toBe(0);
  });

  it("is not asked of answers that have none, nor of those stored before", async () => {
    const key = v7();
    await fixture.engine.run(request(key), effect(token));
    expect(text(await fixture.engine.run(request(key), effect(token), { seal }))).toBe("one-time-secret");
    const empty = v7();
    await fixture.engine.run(request(empty), effect({ status: 204 }), { seal });
    expect(await fixture.engine.run(request(empty), effect(), { seal })).toMatchObject({
      kind: "replayed",
      body: null,
    });
  });
});

describe.each(drivers)("on $name,", (driver) => {
  let opened: OpenDriver;
  let engine: Idempotency<unknown>;
  const run = (key: string | undefined, answer?: Answer) =>
    engine.run(request(key), effectOn(opened, answer), { required: false });
  const count = async (): Promise<number> =>
    (await fixture.pool.query("SELECT count(*)::int AS n FROM effects")).rows[0].n;

  beforeAll(() => {
    opened = driver.open(fixture.url);
    engine = createIdempotency({ db: opened.db, retention: "24h" });
  });

  afterAll(() => opened.end());

  describe("where no key is required,", () => {
    it("a request without one runs each time, unmarked, in a transaction", async () => {
      const before = await count();
      for (let time = 1; time <= 2; time += 1) {
        const outcome = await run(undefined);
        expect(outcome).toMatchObject({ kind: "unprotected", status: 201 });
        expect(header(outcome, "idempotency-status")).toBeUndefined();
        expect(await count()).toBe(before + time);
      }
    });

    it.each([402, 503])("%i undoes its effects", async (status) => {
      const before = await count();
      expect((await run(undefined, { status })).status).toBe(status);
      expect(await count()).toBe(before);
    });

    it("a failed statement that the handler swallowed is not believed to have been committed", async () => {
      const before = await count();
      const swallowing: Handler<unknown> = async (execution) => {
        await effectOn(opened)(execution);
        await opened.query(execution.tx, "SELECT 1 / 0").catch(() => {});
        return created;
      };
      await expect(engine.run(request(undefined), swallowing, { required: false })).rejects.toThrow("had failed");
      expect(await count()).toBe(before);
    });

    it("a request with one is protected, and a bad one is refused", async () => {
      const key = v7();
      expect((await run(key)).kind).toBe("executed");
      expect((await run(key)).kind).toBe("replayed");
      expect(errorOf(await run("a b"))).toBe("idempotency_key_invalid");
      expect(errorOf(await run(""))).toBe("idempotency_key_invalid");
    });
  });

  describe("an older table", () => {
    const older = { status: 202, headers: { "content-type": "text/plain", "set-cookie": "a=1" }, body: "older" };

    beforeAll(() => fixture.pool.query("CREATE TABLE IF NOT EXISTS old_keys (tenant text, scope text, key text)"));

    const fallback = async ({ tx, tenant, scope, key }: KeySource & { tx: unknown }): Promise<Answer | undefined> => {
      const found = await opened.query(tx, "SELECT FROM old_keys WHERE tenant = $1 AND scope = $2 AND key = $3", [
        tenant,
        scope,
        key,
      ]);
      return found.length > 0 ? older : undefined;
    };

    it("answers for the keys that it knows, sixteen at a time, and nothing runs", async () => {
      const key = v7();
      await fixture.pool.query("INSERT INTO old_keys VALUES ('acct_1', 'effects', $1)", [key]);
      const asked = () => engine.run(request(key), () => expect.unreachable(), { fallback });
      const outcomes = await Promise.all(Array.from({ length: 16 }, asked));
      expect(outcomes.map(({ kind }) => kind)).toEqual(Array(16).fill("replayed"));
      const [outcome = expect.unreachable()] = outcomes;
      expect(outcome.status).toBe(202);
      expect(text(outcome)).toBe("older");
      expect(outcome.headers).toEqual([
        ["content-type", "text/plain"],
        ["idempotency-status", "replayed"],
        ["idempotency-replayed", "true"],
      ]);
    });

    it("is not asked for keys that are known here", async () => {
      const key = v7();
      expect((await engine.run(request(key), effectOn(opened), { fallback })).kind).toBe("executed");
      const again = await engine.run(request(key), effectOn(opened), { fallback: () => expect.unreachable() });
      expect(again).toMatchObject({ kind: "replayed", status: 201 });
      expect(await fixture.effects(key)).toBe(1);
    });

    it("that cannot be read stops the handler", async () => {
      const failing = engine.run(request(v7()), () => expect.unreachable(), {
        fallback: ({ tx }) => opened.query(tx, "SELECT FROM no_such_table") as never,
      });
      await expect(failing).rejects.toThrow();
    });
  });

  describe("statements that the handler did not wait for", () => {
    it("are part of the transaction", async () => {
      const key = v7();
      const outcome = await engine.run(request(key), ({ tx }) => {
        opened.query(tx, "INSERT INTO effects (key) VALUES ($1)", [key]).catch(() => {});
        return created;
      });
      expect(outcome.kind).toBe("executed");
      expect(await fixture.effects(key)).toBe(1);
    });

    it("and that fail undo it", async () => {
      const key = v7();
      const run = engine.run(request(key), async (execution) => {
        await effectOn(opened)(execution);
        opened.query(execution.tx, "SELECT 1 / 0").catch(() => {});
        return created;
      });
      await expect(run).rejects.toThrow("had failed");
      expect(await fixture.effects(key)).toBe(0);
    });
  });

  it.each<[string, unknown]>([
    ["a string", "no"],
    ["nothing", undefined],
  ])("%s that is thrown undoes everything and is thrown on", async (_, thrown) => {
    const key = v7();
    const run = engine.run(request(key), async (execution) => {
      await effectOn(opened)(execution);
      throw thrown;
    });
    expect(
      await run.then(
        () => expect.unreachable(),
        (reason: unknown) => ({ reason }),
      ),
    ).toEqual({ reason: thrown });
    expect(await fixture.effects(key)).toBe(0);
  });
});

describe.each(ownConnections)("on $name, when the handler has ended,", (driver) => {
  it("nothing can be done on its connection any more, which others have now", async () => {
    const opened = driver.open(fixture.url, 1);
    const engine = createIdempotency({ db: opened.db, retention: "24h" });
    const [late, goOn] = [gate(), gate()];
    let refusal: Promise<unknown> | undefined;
    await engine.run(request(v7()), ({ tx }) => {
      refusal = goOn.passed.then(() => opened.query(tx, "INSERT INTO effects (key) VALUES ('late')"));
      return created;
    });
    // In the middle of somebody else's transaction.
    await engine.run(request(v7()), async () => {
      goOn.open();
      await expect(refusal).rejects.toBeInstanceOf(MisuseError);
      late.open();
      return created;
    });
    await late.passed;
    expect(await fixture.effects("late")).toBe(0);
    await opened.end();
  });

  it("it has not been able to give its connection away", async () => {
    const opened = driver.open(fixture.url, 1);
    const engine = createIdempotency({ db: opened.db, retention: "24h" });
    const run = engine.run(request(v7()), ({ tx }) => {
      (tx as { release(): void }).release();
      return created;
    });
    await expect(run).rejects.toThrow("samekey's to do");
    expect((await engine.run(request(v7()), effectOn(opened))).kind).toBe("executed");
    await opened.end();
  });
});

describe("an answer that is none", () => {
  it.each<[string, unknown]>([
    ["nothing", undefined],
    ["a string", "ok"],
    ["no status", {}],
    ["a status that is a string", { status: "201" }],
    ["a status that is no whole number", { status: 200.5 }],
    ["status 99", { status: 99 }],
    ["status 101", { status: 101 }],
    ["status 600", { status: 600 }],
    ["a body that is a value", { status: 200, body: { ok: true } }],
    ["a body where there can be none", { status: 204, body: "x" }],
    ["a disposition of its own", { status: 200, disposition: "kept" }],
    ["a header that starts another", { status: 200, headers: { location: "/\r\nset-cookie: a=1" } }],
    ["a header with a bare line feed", { status: 200, headers: { location: "/\n" } }],
    ["a header with NUL", { status: 200, headers: { location: "/\0" } }],
    ["a header's name with a colon", { status: 200, headers: { ":sealed": "1" } }],
    ["a header's name that is empty", { status: 200, headers: [["", "1"]] }],
  ])("(%s) undoes everything, and says so", async (_, answer) => {
    const key = v7();
    const run = fixture.engine.run(request(key), async (execution) => {
      await effect()(execution);
      return answer as Answer;
    });
    await expect(run).rejects.toThrow(MisuseError);
    await expect(run).rejects.toThrow("the handler's answer");
    expect(await fixture.effects(key)).toBe(0);
    expect((await fixture.engine.run(request(key), effect())).kind).toBe("executed");
  });
});

// F101
describe("a tenant or scope", () => {
  it.each<[string, unknown]>([
    ["undefined", undefined],
    ["null", null],
    ["a number", 42],
    ["empty", ""],
    ["blank", " \t"],
    ["longer than 255 characters", "x".repeat(256)],
    ["with NUL", "a\0b"],
    ["with half a surrogate pair", "a\ud800"],
  ])("that is %s is refused before the database is asked", async (_, value) => {
    const engine = createIdempotency({ db: { connect: () => expect.unreachable() }, retention: "24h" });
    for (const name of ["tenant", "scope"]) {
      const run = engine.run({ ...request(v7()), [name]: value }, () => expect.unreachable());
      await expect(run).rejects.toThrow(new RegExp(`\`${name}\` must`));
    }
  });

  it.each(["'; DROP TABLE effects; --", "x".repeat(255), "𝒳".repeat(127), "a\\b", "$1", "%"])(
    "may be %j",
    async (value) => {
      const key = v7();
      const odd = { ...request(key), tenant: value, scope: value };
      expect((await fixture.engine.run(odd, effect())).kind).toBe("executed");
      expect((await fixture.engine.run(odd, effect())).kind).toBe("replayed");
    },
  );
});

it("a handler derives keys for other systems: the same with each attempt, others for other keys and steps", async () => {
  const key = v7();
  const derived: string[] = [];
  const handler =
    (answer: Answer): Handler<unknown> =>
    (execution) => {
      derived.push(execution.derive("charge"), execution.derive("mail"));
      return answer;
    };
  await fixture.engine.run(request(key), handler({ status: 503 }));
  await fixture.engine.run(request(key), handler(created));
  const [charge, mail] = derived;
  expect(derived).toEqual([charge, mail, charge, mail]);
  expect(new Set(derived).size).toBe(2);
  expect(charge).toBe(derive({ tenant: "acct_1", scope: "effects", key }, "charge"));
});

describe.each(ownConnections)("on $name, a database that cannot be reached", (driver) => {
  it("is answered 503, with the reason for the log", async () => {
    const opened = driver.open("postgres://nobody@127.0.0.1:1/none");
    const engine = createIdempotency({ db: opened.db, retention: "24h" });
    const outcome = await engine.run(request(v7()), () => expect.unreachable());
    expect(outcome).toMatchObject({ kind: "unavailable", status: 503, cause: { code: "ECONNREFUSED" } });
    expect(errorOf(outcome)).toBe("unavailable");
    await opened.end();
  });
});

it("a pool that has no connection in time is answered 503", async () => {
  const pool = new pg.Pool({ connectionString: fixture.url, max: 1, connectionTimeoutMillis: 1_000 });
  pool.on("error", () => {});
  const engine = createIdempotency({ db: pool, retention: "24h" });
  const held = await pool.connect();
  const outcome = await engine.run(request(v7()), () => expect.unreachable());
  expect(errorOf(outcome)).toBe("unavailable");
  expect(header(outcome, "retry-after")).toBe("1");
  held.release();
  expect((await engine.run(request(v7()), effect())).kind).toBe("executed");
  await pool.end();
});
