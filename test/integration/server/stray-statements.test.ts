import { v7 } from "uuid";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Answer, createIdempotency, type Idempotency } from "../../../src/server/index.js";
import { type OpenDriver, ownConnections } from "./drivers.js";
import { type Fixture, request, startFixture } from "./fixture.js";

let fixture: Fixture;

beforeAll(async () => {
  fixture = await startFixture();
}, 60_000);

afterAll(() => fixture.stop());

describe.each(ownConnections)("on $name, what a handler leaves running", (driver) => {
  let opened: OpenDriver;
  let engine: Idempotency<unknown>;

  beforeAll(() => {
    opened = driver.open(fixture.url, 1);
    engine = createIdempotency({ db: opened.db, retention: "24h" });
  });

  afterAll(() => opened.end());

  /** A handler that ends while another branch of it, as Promise.all leaves one, still has statements to send. */
  async function run(key: string, end: () => Answer): Promise<{ refusal: unknown }> {
    let branch: Promise<unknown> = Promise.resolve();
    const running = engine.run(request(key), async ({ tx }) => {
      branch = (async () => {
        for (let count = 0; count < 100; count += 1) {
          await opened.query(tx, "INSERT INTO effects (key) VALUES ($1)", [key]);
        }
      })();
      branch.catch(() => {});
      await opened.query(tx, "SELECT 1");
      return end();
    });
    await running.catch(() => {});
    return { refusal: await branch.catch((error: unknown) => error) };
  }

  it.each<[string, () => Answer]>([
    [
      "throws",
      () => {
        throw new Error("insufficient funds");
      },
    ],
    ["releases", () => ({ status: 503 })],
    ["refuses", () => ({ status: 402 })],
  ])("is undone with the rest when it %s, and goes no further", async (_, end) => {
    const key = v7();
    expect(await run(key, end)).toEqual({
      refusal: expect.objectContaining({ message: expect.stringContaining("`tx` was used after its handler") }),
    });
    expect(await fixture.effects(key)).toBe(0);
  });

  it("goes no further than the commit when it answers", async () => {
    const key = v7();
    const { refusal } = await run(key, () => ({ status: 201 }));
    expect(refusal).toMatchObject({ code: "bad_option" });
    expect(await fixture.effects(key)).toBeLessThan(100);
  });
});
