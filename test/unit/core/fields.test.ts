import { describe, expect, it } from "vitest";
import { changed, whole } from "../../../src/core/fields.js";
import { newRecord } from "../../../src/core/new-record.js";
import type { OperationRecord } from "../../../src/core/record.js";
import { transition } from "../../../src/core/transition.js";

const beginning = { id: "a", key: "k", name: "pay", owner: "u", origin: "https://x.test" };
const fresh = newRecord(beginning as never, 5) as OperationRecord;
const fields = Object.keys(fresh);
const grown = { ...fresh, colour: "red" } as OperationRecord;

describe("a copy of a record", () => {
  it("has what was changed, and the rest as it was", () => {
    const copy = changed(fresh, { state: "blocked", blockedBy: "refused" });
    expect(copy).toStrictEqual({ ...fresh, state: "blocked", blockedBy: "refused" });
    expect(fresh.state).toBe("pending");
  });

  it("has every field there is, in the same order, however little was set", () => {
    const little = JSON.parse(JSON.stringify(fresh)) as OperationRecord;
    expect(Object.keys(little).length).toBeLessThan(fields.length);
    expect(Object.keys(changed(little, { seq: 3 }))).toEqual(fields);
    expect(Object.keys(whole(little))).toEqual(fields);
  });

  it("keeps fields that a newer samekey has added, through every event", () => {
    expect(changed(grown, { seq: 3 })).toMatchObject({ colour: "red", seq: 3 });
    const little = JSON.parse(JSON.stringify(grown)) as OperationRecord;
    expect(changed(little, { seq: 3 })).toMatchObject({ colour: "red" });
    const claim = { type: "claim", at: 6, holder: "h", length: 10, hook: false } as const;
    const canceled = transition(grown, { type: "cancel", at: 7, hook: false });
    expect(canceled).toMatchObject({ colour: "red", state: "canceled" });
    const wired = { ...grown, wire: { retention: 1000, mint: "v7", dedupes: true } } as OperationRecord;
    expect(transition(wired, claim)).toMatchObject({ colour: "red", fence: 1 });
  });
});
