import { mkdirSync, writeFileSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test, vi } from "vitest";
import { MisuseError } from "../../../src/errors.js";
import { defaultPath } from "../../../src/stores/sqlite/place.js";
import { sqliteStore } from "../../../src/stores/sqlite.js";
import { context, newRecord } from "../../support/records.js";
import { contents, directory, later, opened, refusal } from "./tools.js";

vi.mock("node:fs/promises", async (original) => {
  const real = await original<typeof import("node:fs/promises")>();
  return { ...real, statfs: vi.fn(real.statfs) };
});

test.for([
  [0x6969, "NFS"],
  [0x517b, "SMB"],
  // The kernel's numbers are signed in some versions of Node.
  [0xff534d42 | 0, "CIFS"],
  [0xfe534d42, "SMB 2"],
  [0x65735546, "FUSE"],
  [0x01021997, "9P"],
] as const)(
  "file system %s (%s) is refused, with guidance, and nothing is made there (F84)",
  async ([type, name], { skip }) => {
    if (process.platform !== "linux") skip("the numbers are Linux's");
    const home = directory();
    vi.mocked(statfs).mockResolvedValueOnce({ type } as never);
    const error = await refusal({ path: join(home, "store.sqlite") });
    expect(error.code).toBe("unavailable");
    expect(error.message).toContain(`${home} is on ${name}`);
    expect(error.message).toContain("Choose a path on a local disk");
    expect(contents(home)).toEqual({});
  },
);

test("a file in the place of a directory is one clear error", async () => {
  const file = join(directory(), "file");
  writeFileSync(file, "");
  const error = await refusal({ path: join(file, "store.sqlite") });
  expect(error.code).toBe("unavailable");
  expect(error.message).toMatch(/store\.sqlite: E(NOTDIR|EXIST).*Choose a path that this user can write to/);
  expect(error.cause).toBeInstanceOf(Error);
});

test.skipIf(process.platform === "win32").each(["/dev/full", "/tmp"])(
  "what is no regular file is told as such, whoever may read it: %s",
  async (path) => {
    const error = await refusal({ path });
    expect(error.code).toBe("unavailable");
    expect(error.message).toContain(`${path}: this is no regular file. Choose a path`);
    expect(error.message).not.toContain("chmod");
  },
);

test.each([
  [{ file: "x" }, "`file` is not an option of sqliteStore; known are driver, path"],
  ["x", "sqliteStore takes an object of options"],
  [{ path: 7 }, "`path` is 7, expected a path or a file: URL"],
  [{ path: new URL("https://example.com/x") }, '`path` is "https://example.com/x", expected a path or a file: URL'],
  [{ driver: "sqlite3" }, '`driver` is "sqlite3", expected "better-sqlite3", "node:sqlite" or a function'],
])("options %j are refused at once", (options, told) => {
  expect(() => sqliteStore(options as never)).toThrow(told);
});

test("a file: URL is a path", async () => {
  const home = directory();
  await opened({ path: pathToFileURL(join(home, "a b.sqlite")) });
  expect(Object.keys(contents(home))).toContain("a b.sqlite");
});

test.each([":memory:", "", "file:///tmp/x"])("path %j is a misuse that names the alternative", async (path) => {
  const error = await sqliteStore({ path })
    .open(context)
    .catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(MisuseError);
  expect((error as MisuseError).code).toBe("bad_option");
  expect((error as MisuseError).message).toContain("memoryStore()");
});

test("the default path is below $SAMEKEY_DIR, else where the platform keeps state", () => {
  later(() => vi.unstubAllEnvs());
  const path = (platform: string, env: Record<string, string | undefined>) => {
    vi.stubGlobal("process", process);
    const real = Object.getOwnPropertyDescriptor(process, "platform") as PropertyDescriptor;
    Object.defineProperty(process, "platform", { ...real, value: platform });
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
    try {
      return defaultPath("checkout");
    } finally {
      Object.defineProperty(process, "platform", real);
      vi.unstubAllEnvs();
    }
  };
  const none = { SAMEKEY_DIR: undefined, XDG_STATE_HOME: undefined, LOCALAPPDATA: undefined };
  expect(path("linux", { ...none, SAMEKEY_DIR: "/srv/state" })).toBe("/srv/state/checkout.sqlite");
  expect(path("linux", { ...none, XDG_STATE_HOME: "/xdg" })).toBe("/xdg/samekey/checkout.sqlite");
  expect(path("linux", none)).toBe(join(homedir(), ".local/state/samekey/checkout.sqlite"));
  expect(path("darwin", none)).toBe(join(homedir(), "Library/Application Support/samekey/checkout.sqlite"));
  expect(path("win32", { ...none, LOCALAPPDATA: "/local" })).toBe("/local/samekey/checkout.sqlite");
});

test("a name is no path", () => {
  later(() => vi.unstubAllEnvs());
  vi.stubEnv("SAMEKEY_DIR", "/srv/state");
  expect(defaultPath("../../etc/passwd")).toBe("/srv/state/%2E%2E%2F%2E%2E%2Fetc%2Fpasswd.sqlite");
  expect(defaultPath("..")).toBe("/srv/state/%2E%2E.sqlite");
});

test("without a path, the store is named after the sdk", async () => {
  const home = join(directory(), "state");
  vi.stubEnv("SAMEKEY_DIR", home);
  later(() => vi.unstubAllEnvs());
  const store = await opened({});
  await store.insert(newRecord());
  expect(Object.keys(contents(home))).toContain("contract.sqlite");
});

test("stores of one path share one connection, whatever way the path is written", async () => {
  const home = directory();
  mkdirSync(join(home, "sub"));
  const path = join(home, "store.sqlite");
  let connections = 0;
  const { default: Database } = await import("better-sqlite3");
  const driver = (file: string) => {
    connections += 1;
    return new Database(file);
  };
  const [one, two] = await Promise.all([
    opened({ path, driver }),
    opened({ path: join(home, "sub/../store.sqlite"), driver }),
  ]);
  const { record } = await one.insert(newRecord());
  expect((await two.get(record.id))?.id).toBe(record.id);
  expect(connections).toBe(1);
  await one.close();
  await one.close();
  expect(await two.counts()).toEqual({ pending: 1 });
  await two.close();
  const three = await opened({ path, driver });
  expect(await three.counts()).toEqual({ pending: 1 });
  expect(connections).toBe(2);
});
