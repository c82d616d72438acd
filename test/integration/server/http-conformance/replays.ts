import { randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import { v7 } from "uuid";
import { expect } from "vitest";
import type { Reply } from "../http-hosts.js";
import { binary, type Case, effect, executed, json, marks, post, replayed, type Target, typed } from "./target.js";

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

export const replays: readonly Case[] = replies.slice(0, -1).map(([name, reply, headers]) => ({
  name: `replays ${name}, byte for byte`,
  check: (target) => expectReplay(target, reply, headers),
}));
