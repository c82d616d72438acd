import { v7 } from "uuid";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createIdempotency, type Idempotency, type Outcome } from "../../../src/server/index.js";
import { drivers, type OpenDriver } from "./drivers.js";
import { created, type Fixture, request, startFixture } from "./fixture.js";

let fixture: Fixture;

beforeAll(async () => {
  fixture = await startFixture();
}, 60_000);

afterAll(() => fixture.stop());

// The transactions of Drizzle on postgres are that driver's own, and their COMMIT is one of the statements that it prepares.
const owned = drivers.filter(({ name }) => name !== "Drizzle on postgres");

describe.each(owned)("on $name, where what is prepared is done away with", (driver) => {
  let opened: OpenDriver;
  let engine: Idempotency<unknown>;

  beforeAll(() => {
    opened = driver.open(fixture.url, 1);
    engine = createIdempotency({ db: opened.db, retention: "24h" });
  });

  afterAll(() => opened.end());

  const run = (key: string, also: "nothing" | "DEALLOCATE ALL", rerun = true): Promise<Outcome> =>
    engine.run(
      request(key),
      async ({ tx }) => {
        await opened.query(tx, "INSERT INTO effects (key) VALUES ($1)", [key]);
        if (also !== "nothing") await opened.query(tx, also);
        return created;
      },
      { rerun },
    );

  const standing = async (key: string) => [
    await fixture.effects(key),
    await fixture.records(`7${key.replaceAll("-", "")}`),
  ];

  it("in a handler, its work is done once and recorded, and so is that of those after it", async () => {
    for (let round = 0; round < 3; round += 1) {
      for (const also of ["nothing", "DEALLOCATE ALL", "nothing"] as const) {
        const key = v7();
        expect((await run(key, also)).kind).toBe("executed");
        expect(await standing(key)).toEqual([1, 1]);
        expect((await run(key, "nothing")).kind).toBe("replayed");
      }
    }
  });

  it("in a handler that may not run again, there is either its work and the record of it, or neither", async () => {
    for (let round = 0; round < 6; round += 1) {
      const key = v7();
      const { kind } = await run(key, round % 2 === 0 ? "DEALLOCATE ALL" : "nothing", false);
      expect(["executed", "unavailable"]).toContain(kind);
      expect(await standing(key)).toEqual(kind === "executed" ? [1, 1] : [0, 0]);
    }
  });
});
