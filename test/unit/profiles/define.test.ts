import { MisuseError } from "samekey";
import { defineProfile } from "samekey/profiles";
import { expect, test } from "vitest";

test.each<[string, object, string]>([
  ["no name", {}, "profile.name"],
  ["a word for retention", { retention: "soon" }, "profile.retention"],
  ["no retention at all", { retention: 0 }, "profile.retention"],
  ["two places", { header: "x-key", bodyField: "key" }, "`header` and `bodyField`"],
  ["no header's name", { header: "a b" }, "profile.header"],
  ["an empty member", { bodyField: "" }, "profile.bodyField"],
  ["quotes in a body", { bodyField: "key", quoted: true }, "profile.quoted"],
  ["a method that does not write", { methods: ["GET"] }, "profile.methods"],
  ["a key's length that is none", { keyLength: 0 }, "profile.keyLength"],
  ["keys too short for a UUID", { keyLength: 20 }, "profile.keyLength"],
  ["a format that no UUIDv7 has", { keyFormat: /^\d+$/ }, "profile.keyFormat"],
  ["a format that is text", { keyFormat: "x" }, "profile.keyFormat"],
  ["a route without a path", { routes: [{}] }, "profile.routes[0].path"],
  ["a route with a bad gap", { routes: [{ path: /a/, gap: -1 }] }, "profile.routes[0].gap"],
  ["an unknown word", { headr: "x" }, "headr"],
  ["a secret to keep", { keepHeaders: ["authorization"] }, "profile.keepHeaders"],
  ["an answer that means nothing", { answers: [{ status: 409, means: "busy" }] }, "profile.answers[0].means"],
  ["an answer without a status", { answers: [{ means: "refused" }] }, "profile.answers[0].status"],
  ["a look-up that is no function", { lookUp: "/x" }, "profile.lookUp"],
])("%s is told by name", (what, options, field) => {
  const given = what === "no name" ? options : { name: "p", ...options };
  expect(() => defineProfile(given as never)).toThrow(MisuseError);
  expect(() => defineProfile(given as never)).toThrow(expect.objectContaining({ code: "bad_option" }));
  expect(() => defineProfile(given as never)).toThrow(field);
});
