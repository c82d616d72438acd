import { Socket } from "node:net";
import { v7 } from "uuid";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createIdempotency, type Idempotency, type Outcome } from "../../../src/server/index.js";
import { drivers, type OpenDriver } from "./drivers.js";
import { created, effect, type Fixture, gate, request, startFixture } from "./fixture.js";

let fixture: Fixture;

beforeAll(async () => {
  fixture = await startFixture();
}, 60_000);

afterAll(() => fixture.stop());

/** Counts how often a client writes and then waits: all that it writes before anything comes back is one trip. */
class Meter {
  trips = 0;
  #waiting = false;

  readonly socket = (): Socket => {
    const socket = new Socket();
    const { write } = socket;
    const counted = (...args: Parameters<typeof write>): boolean => {
      if (!this.#waiting) this.trips += 1;
      this.#waiting = true;
      return write.apply(socket, args);
    };
    socket.on("data", () => {
      this.#waiting = false;
    });
    // Only then: connecting puts the socket's own back.
    return socket.on("connect", () => Object.assign(socket, { write: counted }));
  };
}

const done = v7();
const held = v7();

type Path = (engine: Idempotency<unknown>) => Promise<Outcome>;

/** One request down each path, which must end as it is named. */
const paths: Record<string, Path> = {
  executed: (engine) => engine.run(request(v7()), () => created),
  replayed: (engine) => engine.run(request(done), () => expect.unreachable()),
  mismatched: (engine) => engine.run(request(done, "other"), () => expect.unreachable()),
  in_progress: (engine) => engine.run(request(held), () => expect.unreachable()),
  released: (engine) => engine.run(request(v7()), () => ({ status: 503 })),
  unprotected: (engine) => engine.run(request(undefined), () => created, { required: false }),
  invalid: (engine) => engine.run(request("a b"), () => expect.unreachable()),
};
const refused: Path = (engine) => engine.run(request(v7()), () => ({ status: 402 }));

/** As docs/server.md says, beside the handler's own: new, refused, released, a look that finds something, without a key. */
const expected: Record<string, readonly [number, number, number, number, number]> = {
  pg: [2, 4, 2, 2, 2],
  "pg, pipelined": [2, 4, 2, 2, 2],
  "pg, wrapped": [4, 7, 3, 3, 2],
  postgres: [2, 4, 2, 2, 2],
  "postgres, unprepared": [5, 8, 3, 3, 2],
  "Kysely on pg": [4, 7, 3, 3, 4],
  "Drizzle on pg": [4, 7, 3, 3, 4],
  "Drizzle on postgres": [6, 10, 4, 4, 4],
};

describe.each(drivers)("the trips to the database on $name", (driver) => {
  let opened: OpenDriver;
  const meter = new Meter();
  const [began, goOn] = [gate(), gate()];
  let holding: Promise<unknown>;

  beforeAll(async () => {
    opened = driver.open(fixture.url, 1, meter.socket);
    await fixture.engine.run(request(done), effect());
    holding = fixture.engine.run(request(held), async () => {
      began.open();
      await goOn.passed;
      return { status: 503 };
    });
    await began.passed;
  });

  afterAll(async () => {
    goOn.open();
    await holding;
    await opened.end();
  });

  it("are as many as the docs say, down every path", async () => {
    const engine = createIdempotency({ db: opened.db, retention: "24h" });
    const count = async (path: Path, kind: string): Promise<number> => {
      // What a connection has to learn once, it has learnt then.
      expect((await path(engine)).kind).toBe(kind);
      meter.trips = 0;
      await path(engine);
      return meter.trips;
    };
    const counted: Record<string, number> = { refused: await count(refused, "executed") };
    for (const [kind, path] of Object.entries(paths)) counted[kind] = await count(path, kind);

    const [executed, refusing, released, look, unprotected] = expected[driver.name] ?? [];
    expect(counted).toEqual({
      executed,
      refused: refusing,
      released,
      replayed: look,
      mismatched: look,
      in_progress: look,
      unprotected,
      invalid: 0,
    });
  });
});
