import { describe, expect, it } from "vitest";
import { MisuseError } from "../../../src/errors.js";
import { isConnectionFailure, isContention, sqlState } from "../../../src/server/failure.js";

const coded = (code: string, cause?: unknown): Error => Object.assign(new Error("failed", { cause }), { code });

describe("a failure", () => {
  it.each<[string, unknown, string | undefined]>([
    ["of Postgres", coded("23505"), "23505"],
    ["of Postgres, as an ORM passes it on", new Error("Failed query", { cause: coded("40P01") }), "40P01"],
    ["of Node", coded("ECONNRESET"), undefined],
    ["of Node, in five letters", coded("EPIPE"), undefined],
    ["that is no error", "23505", undefined],
    ["that is nothing", undefined, undefined],
  ])("%s has its SQLSTATE, if any", (_, error, state) => {
    expect(sqlState(error)).toBe(state);
  });

  it("that is its own cause is looked at once", () => {
    const error = new Error("round");
    error.cause = error;
    expect(sqlState(error)).toBeUndefined();
  });

  it.each<[string, unknown, boolean]>([
    ["a reset", coded("ECONNRESET"), true],
    ["a broken pipe", coded("EPIPE"), true],
    ["a pool that has none in time, as pg puts it", new Error("timeout exceeded when trying to connect"), true],
    ["a shutdown", coded("57P01"), true],
    ["too many connections", coded("53300"), true],
    ["a transaction that idled too long", coded("25P03"), true],
    ["a full disk", coded("53100"), true],
    ["a canceled statement", coded("57014"), false],
    ["a violated constraint", coded("23505"), false],
    ["a bug", new TypeError("undefined is no function"), false],
    ["a wrong option", new MisuseError("bad_option"), false],
  ])("by %s is the connection's: %s", (_, error, expected) => {
    expect(isConnectionFailure(error)).toBe(expected);
  });

  it.each([
    ["40001", true],
    ["40P01", true],
    ["55P03", false],
    ["23505", false],
  ])("%s may pass when the transaction is run again: %s", (state, expected) => {
    expect(isContention(new Error("wrapped", { cause: coded(state) }))).toBe(expected);
  });
});
