import { expect, test } from "vitest";
import { standing, story } from "../../../../src/cli/operations/story.js";
import type { OperationRecord } from "../../../../src/core/record.js";
import { newRecord, postponed, succeeded, T0 } from "../../../support/records.js";

const HOUR = 3_600_000;
const record = { ...newRecord(), seq: 1, rev: 1 } as OperationRecord;
const told = (of: OperationRecord): string => story(of, T0, false, "--name shop");

test("a wait that the server asked for is seen in the list, and how it is ended by `show`", () => {
  const waiting = postponed(record, T0, 100_000 * HOUR);
  const until = new Date(T0 + 100_000 * HOUR).toISOString();
  expect(standing(waiting)).toBe(`pending (until ${until})`);
  expect(told(waiting)).toContain(`next attempt  `);
  expect(told(waiting)).toContain(`samekey retry ${record.id} --name shop`);
});

test("an ordinary wait is nothing to be seen there", () => {
  const waiting = postponed(record, T0, HOUR / 4);
  expect(standing(waiting)).toBe("pending");
  expect(told(waiting)).not.toContain("samekey retry");
});

test("an answer that was too long to be kept is told as that", () => {
  const { response, ...rest } = succeeded(record, T0);
  expect(told({ ...rest, response })).not.toContain("not kept");
  const long = response && { ...response, body: undefined, exceeded: 65_536 };
  expect(told({ ...rest, response: long })).toContain("201, more than 65536 bytes: not kept");
});
