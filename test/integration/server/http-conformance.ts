import { createHash, randomBytes } from "node:crypto";
import { gunzipSync, gzipSync } from "node:zlib";
import type pg from "pg";
import { v4, v7 } from "uuid";
import { expect, vi } from "vitest";
import { exchange, type RawRequest, type RawResponse, send } from "../../support/raw-http.js";
import { gate } from "./fixture.js";
import type { Act, Reply } from "./http-hosts.js";

/** A server under test, and what may be asked of it from behind. */
export interface Target {
  readonly url: string;
  readonly pool: pg.Pool;
  /** What the routes do for this key. Without it: one effect, 201. */
  on(key: string, act: Act): void;
  /** How often the work under this key stands. */
  effects(key: string): Promise<number>;
  /** How many connections the engine has asked for so far. */
  connections(): number;
}

/** What has to hold of every server that samekey makes, whatever serves it. */
export interface Case {
  readonly name: string;
  check(target: Target): Promise<void>;
}

export const bodyLimit: number = 4 * 1024 * 1024;
export const handlerTimeout = 1_000;

const json = "application/json";

export function post(target: Target, key: string | string[] | undefined, request: RawRequest & { path?: string } = {}) {
  const { path = "/act", body = '{"n":1}', ...rest } = request;
  const headers: RawRequest["headers"] = { authorization: "Bearer acct_1", "content-type": json, ...request.headers };
  if (key !== undefined) headers["idempotency-key"] = key;
  return send(`${target.url}${path}`, { ...rest, headers, body });
}

const marks = ({ headers }: RawResponse) => [headers["idempotency-status"], headers["idempotency-replayed"]];
const executed = [["executed"], undefined];
const replayed = [["replayed"], ["true"]];
const unmarked = [undefined, undefined];

/** One effect, and this answer. */
export const effect =
  (reply: Reply): Act =>
  async ({ tx, key }) => {
    await tx.query("INSERT INTO effects (key) VALUES ($1)", [key]);
    return reply;
  };

/** One of samekey's own answers, in the form that RFC 9457 and the IETF draft ask for. */
function expectProblem(response: RawResponse, status: number, error: string, retryAfter?: string): void {
  expect(response.status).toBe(status);
  expect(response.headers["content-type"]).toEqual(["application/problem+json"]);
  expect(response.headers["cache-control"]).toEqual(["no-store"]);
  expect(response.headers["retry-after"]).toEqual(retryAfter && [retryAfter]);
  expect(response.headers["link"]?.[0]).toMatch(/^<https:[^>]+>; rel="describedby"$/);
  const problem = JSON.parse(response.body.toString());
  expect(problem).toEqual({
    type: expect.stringMatching(/^https:\/\/\S+$/),
    title: expect.stringMatching(/\S/),
    status,
    detail: expect.stringMatching(/\S/),
    error,
  });
  expect(marks(response)).toEqual(unmarked);
}

/** The same request twice: executed, then replayed with the same status, body and listed headers. */
async function expectReplay(target: Target, reply: Reply, names: readonly string[] = []): Promise<void> {
  const key = v7();
  target.on(key, effect(reply));
  const first = await post(target, key);
  const again = await post(target, key);
  expect([first.status, marks(first)]).toEqual([reply.status ?? 200, executed]);
  expect([again.status, marks(again)]).toEqual([reply.status ?? 200, replayed]);
  expect(Buffer.compare(first.body, Buffer.from(reply.body ?? ""))).toBe(0);
  expect(Buffer.compare(again.body, first.body)).toBe(0);
  for (const name of ["content-type", "content-length", ...names]) {
    expect(again.headers[name], name).toEqual(first.headers[name]);
  }
  for (const name of names) expect(first.headers[name], name).toBeDefined();
  expect(await target.effects(key)).toBe(1);
}

const typed = (type: string) => ["content-type", type] as const;
const binary = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));

const replies: readonly (readonly [name: string, reply: Reply, headers?: readonly string[]])[] = [
  [
    "JSON with its odd spacing",
    { status: 201, headers: [typed(json)], body: '{ "b" :1.0,\n\t"a":9007199254740993 }\n' },
  ],
  ["text in another charset", { headers: [typed("text/plain; charset=iso-8859-1")], body: Buffer.from([0xe4, 0xf6]) }],
  ["an empty body", { status: 200 }],
  ["204", { status: 204 }],
  ["a redirect", { status: 303, headers: [["location", "/act/1?a=b"]] }, ["location"]],
  ["binary", { headers: [typed("application/octet-stream")], body: binary }],
  [
    "a body that is compressed",
    { headers: [typed(json), ["content-encoding", "gzip"]], body: gzipSync('{"zipped":true}') },
    ["content-encoding"],
  ],
  ["a large body", { headers: [typed("application/octet-stream")], body: randomBytes(600_000) }],
  [
    "every header of the list, and those that the program adds to it",
    {
      headers: [
        typed(json),
        ["cache-control", "private"],
        ["content-disposition", 'attachment; filename="a.json"'],
        ["content-language", "de"],
        ["content-location", "/act/1"],
        ["etag", '"1"'],
        ["last-modified", "Sat, 28 Nov 2026 00:00:00 GMT"],
        ["link", '</a>; rel="next"'],
        ["location", "/act/1"],
        ["x-kept", "yes"],
      ],
      body: "{}",
    },
    ["cache-control", "content-disposition", "content-language", "content-location", "etag", "last-modified", "link"],
  ],
  ["a refusal", { status: 402, headers: [typed(json)], body: '{"error":"insufficient_funds"}' }],
];

const replays: readonly Case[] = replies.slice(0, -1).map(([name, reply, headers]) => ({
  name: `replays ${name}, byte for byte`,
  check: (target) => expectReplay(target, reply, headers),
}));

const keys: readonly (readonly [name: string, first: string, second: string])[] = [
  ["bare and quoted", "k-1", '"k-1"'],
  ["with a quote in it, bare and escaped", 'k"2', '"k\\"2"'],
  ["with a backslash in it, bare and escaped", "k\\3", '"k\\\\3"'],
  ["of one character", "k", '"k"'],
  ["of 255 characters", "k".repeat(255), `"${"k".repeat(255)}"`],
  ["of every visible character", "!#$%&'()*+,-./:;<=>?@[]^_`{|}~", '"!#$%&\'()*+,-./:;<=>?@[]^_`{|}~"'],
];

const sameKeys: readonly Case[] = keys.map(([name, first, second]) => ({
  name: `takes a key ${name} for one key`,
  async check(target) {
    const account = { authorization: `Bearer acct_${v4().replaceAll("-", "")}` };
    expect(marks(await post(target, first, { headers: account }))).toEqual(executed);
    expect(marks(await post(target, second, { headers: account }))).toEqual(replayed);
  },
}));

const badKeys: readonly (readonly [name: string, line: string])[] = [
  ["empty", ""],
  ["empty in quotes", '""'],
  ["too long", "k".repeat(256)],
  ["with a space", "a b"],
  ["with a space in quotes", '"a b"'],
  ["with a tab", "a\tb"],
  ["beyond ASCII", "schl\u00fcssel"],
  ["with a quote that is not closed", '"abc'],
  ["of two values", "a, b"],
  ["of two quoted values", '"a", "a"'],
  ["with a parameter after its quotes", '"abc";a=1'],
];

/** A request by hand, for what no client would send. */
const raw = (lines: readonly string[], body = "{}", method = "POST /act") =>
  Buffer.from(
    [
      `${method} HTTP/1.1`,
      "Host: localhost",
      "Connection: close",
      "Authorization: Bearer acct_1",
      "Content-Type: application/json",
      `Content-Length: ${body.length}`,
      ...lines,
      "",
      body,
    ].join("\r\n"),
    "latin1",
  );

const refusedKeys: readonly Case[] = [
  ...badKeys.map(([name, line]) => [name, [`Idempotency-Key: ${line}`]] as const),
  ["on two lines", ["Idempotency-Key: same", "Idempotency-Key: same"]] as const,
  ["on two lines, one of them empty", ["Idempotency-Key: same", "Idempotency-Key:"]] as const,
].map(([name, lines]) => ({
  name: `refuses a key ${name}, without a word to the database`,
  async check(target) {
    const before = target.connections();
    const answer = await exchange(target.url, raw(lines));
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('"error":"idempotency_key_invalid"');
    expect(answer.toLowerCase()).not.toContain("idempotency-status");
    expect(target.connections()).toBe(before);
  },
}));

/** A v7 key of another time. */
const keyAt = (time: number) => v7({ msecs: time });
const day = 86_400_000;

const rows: readonly Case[] = [
  {
    name: "answers a new key with the handler's answer, marked as executed",
    async check(target) {
      const answer = await post(target, v7());
      expect([answer.status, marks(answer)]).toEqual([201, executed]);
    },
  },
  {
    name: "answers a key in progress with 409 at once, and its retry with the stored answer",
    async check(target) {
      const [began, goOn, key] = [gate(), gate(), v7()];
      target.on(key, async (execution) => {
        began.open();
        await goOn.passed;
        return effect({ status: 201, body: "done" })(execution, Buffer.alloc(0));
      });
      const first = post(target, key);
      await began.passed;
      expectProblem(await post(target, key), 409, "in_progress", "1");
      // Nobody can know yet that it differs.
      expectProblem(await post(target, key, { body: "{}" }), 409, "in_progress", "1");
      goOn.open();
      expect(marks(await first)).toEqual(executed);
      expect(marks(await post(target, key))).toEqual(replayed);
      expect(await target.effects(key)).toBe(1);
    },
  },
  {
    name: "answers a key that was used for another method, path, query, content type or body with 422",
    async check(target) {
      const key = v7();
      expect((await post(target, key, { path: "/act?a=1&b=2" })).status).toBe(201);
      const others = [
        { path: "/act?a=1&b=2", method: "PUT" },
        { path: "/act" },
        { path: "/act?a=1" },
        { path: "/act?b=2&a=1" },
        { path: "/act?a=1&b=2", headers: { "content-type": "application/vnd.x+json" } },
        { path: "/act?a=1&b=2", headers: { "content-type": "application/json; charset=utf-8" } },
        { path: "/act?a=1&b=2", body: '{"n":1 }' },
        { path: "/act?a=1&b=2", body: '{"n":1}\n' },
        { path: "/act?a=1&b=2", body: "" },
      ];
      for (const other of others) {
        expectProblem(await post(target, key, other), 422, "idempotency_key_reused_with_different_body");
      }
      expect(marks(await post(target, key, { path: "/act?a=1&b=2" }))).toEqual(replayed);
      expect(await target.effects(key)).toBe(1);
    },
  },
  {
    // F19
    name: "tells numbers apart that no parser of JSON does",
    async check(target) {
      const key = v7();
      expect((await post(target, key, { body: "9007199254740993" })).status).toBe(201);
      expect((await post(target, key, { body: "9007199254740992" })).status).toBe(422);
    },
  },
  {
    name: "keeps a path's keys apart from another's, where their scopes differ",
    async check(target) {
      const key = v7();
      expect(marks(await post(target, key))).toEqual(executed);
      expect(marks(await post(target, key, { path: "/other" }))).toEqual(executed);
      expect(await target.effects(key)).toBe(2);
    },
  },
  {
    name: "answers no key with 400, without a word to the database",
    async check(target) {
      const before = target.connections();
      expectProblem(await post(target, undefined), 400, "idempotency_key_missing");
      expect(target.connections()).toBe(before);
    },
  },
  {
    name: "answers a key from too far in the future with 400",
    check: async (target) =>
      expectProblem(await post(target, keyAt(Date.now() + 30 * day)), 400, "idempotency_key_time"),
  },
  {
    name: "answers a v7 key past its window with 410, whether it was used or not",
    check: async (target) =>
      expectProblem(await post(target, keyAt(Date.now() - 2 * day)), 410, "idempotency_key_expired"),
  },
  {
    name: "answers any other key past its window with 410",
    async check(target) {
      const key = v4();
      expect((await post(target, key)).status).toBe(201);
      await target.pool.query("UPDATE samekey.keys SET created_at = created_at - interval '2 days' WHERE key = $1", [
        `o${key}`,
      ]);
      expectProblem(await post(target, key), 410, "idempotency_key_expired");
      expect(await target.effects(key)).toBe(1);
    },
  },
  {
    name: "answers nobody known with 401, without a word to the database",
    async check(target) {
      const before = target.connections();
      const answer = await post(target, v7(), { headers: { authorization: "Bearer wrong" } });
      expectProblem(answer, 401, "unauthenticated");
      expect(target.connections()).toBe(before);
    },
  },
  {
    name: "answers a body over the limit with 413, without a word to the database",
    async check(target) {
      const before = target.connections();
      const large = Buffer.alloc(bodyLimit + 1, 32);
      const key = v7();
      expectProblem(await post(target, key, { body: large }), 413, "body_too_large");
      expect(target.connections()).toBe(before);
      expect((await post(target, key, { body: large.subarray(1) })).status).toBe(201);
    },
  },
  {
    name: "answers 503 where the handler takes too long, and runs again",
    async check(target) {
      const [goOn, key] = [gate(), v7()];
      target.on(key, async (execution) => {
        await execution.tx.query("INSERT INTO effects (key) VALUES ($1)", [key]);
        await goOn.passed;
        return {};
      });
      expectProblem(await post(target, key), 503, "handler_timeout", "1");
      goOn.open();
      expect(await target.effects(key)).toBe(0);
      target.on(key, effect({ status: 201 }));
      await vi.waitFor(async () => expect(marks(await post(target, key))).toEqual(executed));
      expect(await target.effects(key)).toBe(1);
    },
  },
  {
    name: "answers 500 where the database would not store the answer, and keeps nothing of it",
    async check(target) {
      const key = v7();
      target.on(key, async ({ tx }) => {
        await tx.query("SELECT 1 / 0").catch(() => {});
        return { status: 201, headers: [["location", "/never"]] };
      });
      const answer = await post(target, key);
      expect([answer.status, marks(answer), answer.headers["location"]]).toEqual([500, unmarked, undefined]);
      target.on(key, effect({ status: 201 }));
      expect(marks(await post(target, key))).toEqual(executed);
    },
  },
];

const outcomes: readonly Case[] = [
  {
    name: "stores a refusal and undoes its effects",
    async check(target) {
      for (const status of [400, 402, 403, 404, 409, 410, 412, 422, 451]) {
        const key = v7();
        target.on(key, effect({ status, headers: [typed(json)], body: '{"error":"no"}' }));
        const [first, again] = [await post(target, key), await post(target, key)];
        expect([first.status, marks(first)]).toEqual([status, executed]);
        expect([again.status, marks(again), again.body.toString()]).toEqual([status, replayed, '{"error":"no"}']);
        expect(await target.effects(key)).toBe(0);
      }
    },
  },
  {
    // F100
    name: "stores nothing of an answer that says: not now",
    async check(target) {
      for (const status of [401, 407, 408, 423, 425, 429, 500, 502, 503]) {
        const key = v7();
        target.on(key, effect({ status, headers: [["retry-after", "7"]], body: "later" }));
        const first = await post(target, key);
        expect([first.status, marks(first), first.headers["retry-after"]]).toEqual([status, unmarked, ["7"]]);
        target.on(key, effect({ status: 201 }));
        expect(marks(await post(target, key))).toEqual(executed);
        expect(await target.effects(key)).toBe(1);
      }
    },
  },
  {
    name: "stores nothing of a handler that throws",
    async check(target) {
      const key = v7();
      target.on(key, async (execution) => {
        await effect({})(execution, Buffer.alloc(0));
        throw new Error("bug");
      });
      const first = await post(target, key);
      expect([first.status, marks(first)]).toEqual([500, unmarked]);
      expect(await target.effects(key)).toBe(0);
      target.on(key, effect({ status: 201 }));
      expect(marks(await post(target, key))).toEqual(executed);
    },
  },
  {
    name: "lets no handler mark its answers itself",
    async check(target) {
      const spoofed = [
        ["Idempotency-Status", "replayed"],
        ["Idempotency-Replayed", "true"],
      ] as const;
      for (const [status, expected] of [
        [200, executed],
        [409, executed],
        [503, unmarked],
      ] as const) {
        const key = v7();
        target.on(key, effect({ status, headers: spoofed }));
        expect(marks(await post(target, key))).toEqual(expected);
      }
    },
  },
  {
    name: "gives the first answer whole, and keeps only the listed headers of it",
    async check(target) {
      const key = v7();
      const headers = [
        ["set-cookie", "a=1"],
        ["set-cookie", "b=2"],
        ["x-request-id", "7"],
        ["link", "</a>"],
        ["link", "</b>"],
      ] as const;
      target.on(key, effect({ headers, body: "ok" }));
      const [first, again] = [await post(target, key), await post(target, key)];
      expect(first.headers["set-cookie"]).toEqual(["a=1", "b=2"]);
      expect(first.headers["x-request-id"]).toEqual(["7"]);
      expect([again.headers["set-cookie"], again.headers["x-request-id"]]).toEqual([undefined, undefined]);
      for (const { headers: sent } of [first, again]) expect(sent["link"]?.join(", ")).toBe("</a>, </b>");
    },
  },
  {
    name: "sends nothing before the commit, and nothing else than what was committed",
    async check(target) {
      const key = v7();
      // Its constraint is checked at COMMIT: the handler has long answered by then.
      target.on(key, async ({ tx }) => {
        await tx.query("INSERT INTO late VALUES ('taken')");
        return { status: 201, headers: [["set-cookie", "session=1"]], body: "paid" };
      });
      const answer = await post(target, key);
      expect([answer.status, marks(answer), answer.headers["set-cookie"]]).toEqual([500, unmarked, undefined]);
      expect(answer.body.toString()).not.toContain("paid");
    },
  },
];

const routes: readonly Case[] = [
  {
    name: "keeps the status of an answer that is too large to be kept, and never runs it again",
    async check(target) {
      const key = v7();
      const large = {
        status: 201,
        headers: [typed(json), ["location", "/act/1"]] as const,
        body: Buffer.alloc(1_100_000, 32),
      };
      target.on(key, effect(large));
      const [first, again] = [await post(target, key), await post(target, key)];
      expect([first.status, marks(first), first.body.length]).toEqual([201, executed, 1_100_000]);
      expect([again.status, marks(again), again.headers["location"]]).toEqual([201, replayed, ["/act/1"]]);
      expect(again.headers["idempotency-body"]).toEqual(["omitted"]);
      expect(await target.effects(key)).toBe(1);
    },
  },
  {
    // F107
    name: "seals what is stored where a route asks for it",
    async check(target) {
      const key = v7();
      target.on(key, effect({ body: "one-time secret" }));
      const [first, again] = [
        await post(target, key, { path: "/sealed" }),
        await post(target, key, { path: "/sealed" }),
      ];
      expect([marks(first), first.body.toString()]).toEqual([executed, "one-time secret"]);
      expect([marks(again), again.body.toString()]).toEqual([replayed, "one-time secret"]);
      const { rows } = await target.pool.query("SELECT body FROM samekey.keys WHERE scope = '/sealed' AND key = $1", [
        `7${key.replaceAll("-", "")}`,
      ]);
      expect(rows.map(({ body }) => body.toString())).not.toContain("one-time secret");
      expect(rows).toHaveLength(1);
    },
  },
  {
    name: "runs a request without a key where a route needs none, unmarked, and refuses a bad one",
    async check(target) {
      const answer = await post(target, undefined, { path: "/optional" });
      expect([answer.status, marks(answer)]).toEqual([201, unmarked]);
      expectProblem(await post(target, "a b", { path: "/optional" }), 400, "idempotency_key_invalid");
      const key = v7();
      expect(marks(await post(target, key, { path: "/optional" }))).toEqual(executed);
      expect(marks(await post(target, key, { path: "/optional" }))).toEqual(replayed);
    },
  },
];

const traffic: readonly Case[] = [
  {
    name: "gives the handler the bytes that were sent",
    async check(target) {
      for (const body of ["", "{}", binary, gzipSync("{}"), randomBytes(300_000)]) {
        const key = v7();
        target.on(key, (_execution, bytes) => ({ body: createHash("sha256").update(bytes).digest("hex") }));
        const answer = await post(target, key, { body });
        expect(answer.body.toString()).toBe(createHash("sha256").update(body).digest("hex"));
      }
    },
  },
  {
    name: "binds a key to the bytes of a compressed body",
    async check(target) {
      const key = v7();
      const zipped = gzipSync('{"n":1}', { level: 1 });
      const otherwise = gzipSync('{"n":1}', { level: 9 });
      expect(gunzipSync(otherwise)).toEqual(gunzipSync(zipped));
      target.on(key, effect({ status: 201 }));
      // Not told to the frameworks, whose parsers would decode it: what counts is what came.
      expect((await post(target, key, { body: zipped })).status).toBe(201);
      expect(marks(await post(target, key, { body: zipped }))).toEqual(replayed);
      expect((await post(target, key, { body: otherwise })).status).toBe(Buffer.compare(zipped, otherwise) ? 422 : 201);
    },
  },
  {
    name: "takes a body in chunks for the same body in one",
    async check(target) {
      const key = v7();
      const chunked = { body: ['{"n"', ":", "1}"] };
      expect(marks(await post(target, key, chunked))).toEqual(executed);
      expect(marks(await post(target, key))).toEqual(replayed);
    },
  },
  {
    name: "twenty at once do the work once",
    async check(target) {
      const key = v7();
      const answers = await Promise.all(Array.from({ length: 20 }, () => post(target, key)));
      const told = answers.map((answer) => `${answer.status} ${marks(answer)[0] ?? "-"}`);
      expect(told.filter((it) => it === "201 executed")).toHaveLength(1);
      for (const it of told) expect(["201 executed", "201 replayed", "409 -"]).toContain(it);
      expect(await target.effects(key)).toBe(1);
    },
  },
  {
    // F34
    name: "twins in one pipeline do the work once",
    async check(target) {
      const key = v7();
      const one = raw([`Idempotency-Key: ${key}`]).toString("latin1");
      const stay = one.replace("Connection: close\r\n", "");
      const answers = await exchange(target.url, stay + one);
      const statuses = [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
      expect(statuses).toHaveLength(2);
      expect(statuses).toContain("201");
      expect(answers.match(/idempotency-status: executed/gi)).toHaveLength(1);
      expect(await target.effects(key)).toBe(1);
    },
  },
  {
    // F101
    name: "keeps tenants apart",
    async check(target) {
      const key = v7();
      const as = (account: string, body: string) => {
        target.on(key, effect({ body: account }));
        return post(target, key, { body, headers: { authorization: `Bearer ${account}` } });
      };
      expect(marks(await as("acct_a", "{}"))).toEqual(executed);
      // Neither the answer nor the fact that there is one can be seen from another account.
      expect(marks(await as("acct_b", "[]"))).toEqual(executed);
      expect((await as("acct_a", "{}")).body.toString()).toBe("acct_a");
      expect((await as("acct_b", "[]")).body.toString()).toBe("acct_b");
    },
  },
  {
    name: "leaves GET and HEAD beside it alone",
    async check(target) {
      const got = await send(`${target.url}/act`, { method: "GET" });
      expect([got.status, got.body.toString(), marks(got)]).toEqual([200, "untouched", unmarked]);
      const head = await send(`${target.url}/act`, { method: "HEAD", headers: { "idempotency-key": "k" } });
      expect(marks(head)).toEqual(unmarked);
    },
  },
  {
    name: "does its work and stores it though the client has gone",
    async check(target) {
      const [began, goOn, key] = [gate(), gate(), v7()];
      target.on(key, async (execution) => {
        began.open();
        await goOn.passed;
        return effect({ status: 201 })(execution, Buffer.alloc(0));
      });
      const controller = new AbortController();
      const init = { method: "POST", body: '{"n":1}', signal: controller.signal };
      const headers = { "idempotency-key": key, authorization: "Bearer acct_1", "content-type": json };
      const gone = expect(fetch(`${target.url}/act`, { ...init, headers })).rejects.toThrow();
      await began.passed;
      controller.abort();
      await gone;
      goOn.open();
      await vi.waitFor(async () => expect(await target.effects(key)).toBe(1));
      expect(marks(await post(target, key))).toEqual(replayed);
    },
  },
  {
    name: "publishes its contract",
    async check(target) {
      const answer = await send(`${target.url}/.well-known/idempotency`, { method: "GET" });
      expect(answer.status).toBe(200);
      expect(answer.headers["content-type"]?.[0]).toMatch(/^application\/json/);
      expect(answer.headers["cache-control"]).toEqual(["public, max-age=300"]);
      expect(JSON.parse(answer.body.toString())).toEqual({
        header: "Idempotency-Key",
        key: { minLength: 1, maxLength: 255, charset: "visible-ascii", quoted: "accepted", recommended: "uuidv7" },
        retention: 86_400,
        statuses: { missing: 400, invalid: 400, time: 400, in_progress: 409, expired: 410, reused: 422 },
        marks: { status: "idempotency-status", replayed: "idempotency-replayed" },
      });
    },
  },
];

export const cases: readonly Case[] = [
  ...rows,
  ...replays,
  ...sameKeys,
  ...refusedKeys,
  ...outcomes,
  ...routes,
  ...traffic,
];
