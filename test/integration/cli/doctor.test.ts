import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { startReferenceServer } from "../../../examples/reference-server/start.js";
import { MOST_REQUESTS } from "../../../src/cli/doctor/network.js";
import { type Ended, samekey } from "../../support/command.js";
import { startPostgres } from "../../support/postgres.js";
import { type Behaviour, type Endpoint, json, keeping, type Reply, startEndpoint } from "./endpoint.js";

const open: { stop(): Promise<void> }[] = [];

afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.stop();
});

const doctor = (...args: readonly string[]): Promise<Ended> => samekey("doctor", ...args);

interface Report {
  readonly conclusion: string;
  readonly wrote: boolean;
  readonly requests: number;
  /** Results by name. */
  readonly results: Readonly<Record<string, string>>;
  readonly details: Readonly<Record<string, string>>;
  readonly options: readonly string[];
}

function reportOf({ stdout }: Ended): Report {
  const { checks, options, ...rest } = JSON.parse(stdout);
  const by = (member: string) =>
    Object.fromEntries(checks.map((check: Record<string, string>) => [check["name"], check[member]]));
  return {
    ...rest,
    results: by("result"),
    details: by("detail"),
    options: options.map(({ code }: { code: string }) => code),
  };
}

async function endpoint(behave: Behaviour, others?: Parameters<typeof startEndpoint>[1]): Promise<Endpoint> {
  const started = await startEndpoint(behave, others);
  open.push(started);
  return started;
}

const body = ["--body", '{"amount":1}'];

/** Examines it with leave to write. */
async function examine(at: Endpoint, ...args: readonly string[]): Promise<Report & { code: number }> {
  const ended = await doctor(at.url, ...body, "--yes", "--json", ...args);
  return { ...reportOf(ended), code: ended.code };
}

const html = (status: number): Reply => ({
  status,
  headers: { "content-type": "text/html" },
  body: `<h1>Error ${status}</h1>`,
});

describe("samekey doctor finds the contract", () => {
  it("kept by the reference server, which carries the request out twice", async () => {
    const postgres = await startPostgres();
    open.push(postgres);
    const server = await startReferenceServer({ databaseUrl: postgres.url, connections: 8 });
    open.push({ stop: () => server.close() });
    const transfer = ["--body", '{"src":8842,"dst":1190,"amount":7}', "--origin", "https://shop.example.com"];
    const ended = await doctor(`${server.url}/transfers`, ...transfer, "--yes", "--json");
    const { conclusion, results, options } = reportOf(ended);
    expect({ code: ended.code, conclusion }).toEqual({ code: 0, conclusion: "kept" });
    // Whether a 409 came is up to the moment.
    const { "retry-after": wait, ...others } = results;
    expect(["kept", "not-seen"]).toContain(wait);
    expect(new Set(Object.values(others))).toEqual(new Set(["kept"]));
    expect(options).toEqual(['retention: "24h"', "discover: true"]);
    const ledger = (await (await fetch(`${server.url}/ledger?account=8842`)).json()) as { entries: unknown[] };
    expect(ledger.entries).toHaveLength(2);
  });

  it("kept by a server that answers 409 to all but one", async () => {
    const at = await endpoint(keeping());
    const report = await examine(at);
    expect(report).toMatchObject({
      code: 0,
      conclusion: "kept",
      results: { "at-once": "kept", "retry-after": "kept" },
    });
    expect(at.effects).toBe(2);
  });

  it("kept by a server that has the others wait, without claiming a 409", async () => {
    const at = await endpoint(keeping({ busy: "wait" }));
    const { code, results, details } = await examine(at);
    expect({ code, results }).toMatchObject({ code: 0, results: { "at-once": "kept", "retry-after": "not-seen" } });
    expect(details["at-once"]).toContain("wait");
  });

  it("kept by a server without marks, by its answers alone", async () => {
    const report = await examine(await endpoint(keeping({ marked: false })));
    expect(report).toMatchObject({ code: 0, results: { dedupes: "kept", marks: "differs", quoting: "kept" } });
  });

  it("kept, with refusals in HTML that are no problems and no Retry-After", async () => {
    const at = await endpoint(keeping({ refuse: html, busy: html(409) }));
    const { code, results, details } = await examine(at);
    expect({ code, results }).toMatchObject({
      code: 0,
      results: { problems: "differs", "at-once": "differs", "retry-after": "differs", "other-body": "kept" },
    });
    expect(details["problems"]).toContain("text/html");
  });

  it("kept by a server that takes quoted keys only, and names the profile", async () => {
    const inner = keeping({ unquotes: false });
    const at = await endpoint((request, effect) =>
      request.key?.startsWith('"') === false ? html(400) : inner(request, effect),
    );
    const { code, options, results } = await examine(at);
    expect({ code, results }).toMatchObject({ code: 0, results: { dedupes: "kept", quoting: "differs" } });
    expect(options).toContain("profile: ietf");
  });
});

describe("samekey doctor finds the contract broken", () => {
  it("by a server that ignores keys, and stops at the repeat", async () => {
    const at = await endpoint((_, effect) => json(201, { transfer: effect() }));
    const { code, results, details, options } = await examine(at);
    expect({ code, results }).toMatchObject({ code: 1, results: { dedupes: "broken", "at-once": "not-seen" } });
    expect(details["dedupes"]).toContain("does not deduplicate");
    expect(options).toContain('profile: { name: "127.0.0.1", dedupes: false }');
    expect(at.effects).toBe(2);
  });

  it("by a server that ignores keys and has one answer for all, without claiming either", async () => {
    const at = await endpoint((_, effect) => json(effect() && 200, { ok: true }));
    const { code, results, options } = await examine(at);
    expect({ code, results }).toMatchObject({
      code: 1,
      results: { dedupes: "not-seen", "at-once": "not-seen", "other-body": "broken" },
    });
    expect(options).toContain('profile: { name: "127.0.0.1", dedupes: false }');
  });

  it("by a server that replays other bytes", async () => {
    const replay = (first: Reply): Reply => ({ ...first, body: `${first.body} ` });
    const { code, results } = await examine(await endpoint(keeping({ replay })));
    expect({ code, results }).toMatchObject({ code: 1, results: { dedupes: "kept", replay: "broken" } });
  });

  it("by a server that replays another Location", async () => {
    const replay = (first: Reply): Reply => ({ ...first, headers: { ...first.headers, location: "/elsewhere" } });
    const { code, results } = await examine(await endpoint(keeping({ replay })));
    expect({ code, results }).toMatchObject({ code: 1, results: { replay: "kept", "replay-headers": "broken" } });
  });

  it("by a server that looks before it locks", async () => {
    const known = new Map<string | undefined, Reply>();
    let came = 0;
    const at = await endpoint(async ({ key }, effect) => {
      const found = known.get(key);
      if (found) return found;
      came += 1;
      // The first key, none, and then five that all find nothing.
      while (came > 2 && came < 7) await new Promise(setImmediate);
      const answer = json(201, { transfer: effect() });
      if (key) known.set(key, answer);
      return answer;
    });
    const { code, results } = await examine(at);
    expect({ code, results }).toMatchObject({ code: 1, results: { "at-once": "broken", "without-key": "differs" } });
  });

  it("by a server that does not compare bodies", async () => {
    const { code, results } = await examine(await endpoint(keeping({ compares: false })));
    expect({ code, results }).toMatchObject({ code: 1, results: { "other-body": "broken", replay: "kept" } });
  });

  it("by a published contract that says otherwise than was seen", async () => {
    const contract = { header: "Idempotency-Key", retention: 3600, statuses: { in_progress: 425, missing: 400 } };
    const at = await endpoint(keeping(), ({ path }) =>
      path === "/.well-known/idempotency" ? json(200, contract) : undefined,
    );
    const { code, details, options } = await examine(at);
    expect(code).toBe(1);
    expect(details["published"]).toContain("in_progress is 409, not 425");
    expect(details["published"]).not.toContain("missing");
    expect(options).toContain('retention: "1h"');
  });

  it("by a preflight that does not allow the key, without writing", async () => {
    const at = await endpoint(keeping(), () => ({
      status: 204,
      headers: { "access-control-allow-origin": "*", "access-control-allow-headers": "content-type" },
    }));
    const ended = await doctor(at.url, ...body, "--origin", "https://shop.example.com", "--json");
    const { results, details } = reportOf(ended);
    expect({ code: ended.code, results }).toMatchObject({ code: 1, results: { preflight: "broken" } });
    expect(details["preflight"]).toContain("idempotency-key");
    expect(at.arrived.map(({ method }) => method)).toEqual(["GET", "OPTIONS"]);
  });
});

describe("samekey doctor concludes nothing", () => {
  it("without leave to write: only what is read-only is done, and it says so", async () => {
    const at = await endpoint(keeping());
    const { code, stdout, stderr } = await doctor(at.url, ...body);
    expect(code).toBe(3);
    expect(stderr).toContain("--yes");
    expect(stdout).toContain("nothing was sent to the endpoint");
    expect(at.arrived.map(({ method }) => method)).toEqual(["GET"]);
  });

  it("from a server that hangs, which is sent one request and no more", async () => {
    const at = await endpoint((_, effect) => void effect());
    const { code, details } = await examine(at, "--timeout", "1s");
    expect(code).toBe(3);
    expect(details["dedupes"]).toContain("may have been carried out");
    expect(at.effects).toBe(1);
  });

  it("from a redirect, which is not followed", async () => {
    const elsewhere = await endpoint(keeping());
    const at = await endpoint(() => ({ status: 307, headers: { location: elsewhere.url } }));
    const { code, details } = await examine(at);
    expect(code).toBe(3);
    expect(details["dedupes"]).toContain("redirected (307)");
    expect(elsewhere.arrived).toEqual([]);
    expect(at.arrived).toHaveLength(2);
  });

  it.each([401, 404, 500])("from a first answer of %i, after which it stops", async (status) => {
    const at = await endpoint(() => html(status));
    const { code, details } = await examine(at);
    expect(code).toBe(3);
    expect(details["dedupes"]).toContain(String(status));
    expect(at.arrived).toHaveLength(2);
  });

  it("where nobody listens", async () => {
    const at = await startEndpoint(keeping());
    await at.stop();
    const { code, stderr } = await doctor(at.url, ...body, "--yes");
    expect(code).toBe(3);
    expect(stderr).toContain("ECONNREFUSED");
  });
});

describe("samekey doctor", () => {
  it("says what it is about to do before it writes", async () => {
    const { stderr } = await doctor((await endpoint(keeping())).url, ...body, "--yes");
    expect(stderr).toContain("may carry it out each time");
  });

  it("sends the same bytes and headers each time, and prints no header's value, body or query", async () => {
    const folder = await mkdtemp(join(tmpdir(), "samekey-doctor-"));
    open.push({ stop: () => rm(folder, { recursive: true }) });
    await writeFile(join(folder, "body"), '{"pin": "hunter2"}\n');
    await writeFile(join(folder, "headers"), "x-api-key: hunter3\n\n");
    const at = await endpoint(keeping());
    const secrets = ["--header", "authorization: Bearer hunter4", "--header", `@${join(folder, "headers")}`];
    const args = [`${at.url}?token=hunter5`, "--body-file", join(folder, "body"), ...secrets, "--method", "put"];
    for (const more of [["--yes"], ["--yes", "--json"], ["--yes", "--verbose"]]) {
      const { code, stdout, stderr } = await doctor(...args, ...more);
      expect(code).toBe(0);
      expect(stdout + stderr).not.toContain("hunter");
    }
    const writes = at.arrived.filter(({ method }) => method === "PUT");
    expect(new Set(writes.map(({ headers }) => `${headers.authorization} ${headers["x-api-key"]}`))).toEqual(
      new Set(["Bearer hunter4 hunter3"]),
    );
    expect(new Set(writes.map((one) => one.path))).toEqual(new Set(["/transfers?token=hunter5"]));
    expect([...new Set(writes.map((one) => one.body))]).toEqual([
      '{"pin": "hunter2"}\n',
      '{"pin":"hunter2","samekey-doctor":"another body"}',
    ]);
  });

  it("keeps to its bound where every key stays in progress", async () => {
    let first: string | undefined;
    const at = await endpoint(({ key }, effect) => {
      first ??= key;
      return key === first ? { ...json(200, { id: effect() && 1 }) } : html(409);
    });
    const { requests, details } = await examine(at);
    expect(requests).toBe(at.arrived.length);
    expect(requests).toBeLessThanOrEqual(MOST_REQUESTS);
    expect(details["at-once"]).toContain("still in progress");
  }, 20_000);

  it.each<[string, string[]]>([
    ["no URL", []],
    ["a URL that is none", ["transfers"]],
    ["a URL with a password", ["http://me:hunter2@127.0.0.1:1/"]],
    ["another scheme", ["file:///etc/passwd"]],
    ["a method that does not write", ["http://127.0.0.1:1/", "--method", "GET"]],
    ["a header without a name", ["http://127.0.0.1:1/", "--header", "hunter2"]],
    ["a key of the caller's own", ["http://127.0.0.1:1/", "--header", "idempotency-key: hunter2"]],
    ["two bodies", ["http://127.0.0.1:1/", "--body", "{}", "--body-file", "package.json"]],
    ["a file that is not there", ["http://127.0.0.1:1/", "--body-file", "/nowhere"]],
    ["an origin that is a URL", ["http://127.0.0.1:1/", "--origin", "https://shop.example.com/cart"]],
    ["a time-out that is none", ["http://127.0.0.1:1/", "--timeout", "soon"]],
  ])("does not understand %s: 2, on stderr", async (_, args) => {
    const { code, stdout, stderr } = await doctor(...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).not.toBe("");
    expect(stderr).not.toContain("hunter2");
  });
});
