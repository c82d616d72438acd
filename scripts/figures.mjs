// Writes what the benches measured into the pages that tell of it, between `<!-- figures: NAME -->` and `<!-- /figures -->`.
// The benches' own tables (bench/**/README.md) are the source. `npm run docs:figures` after a bench; a test compares.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { root } from "./entries.mjs";

const read = (file) => readFileSync(join(root, file), "utf8");
const number = (value, digits = 0) =>
  value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });

/** The head line and the rows of a bench's table, by their first cell. */
function tableOf(file) {
  const text = read(file);
  const [, head, table] = /<!-- figures -->\n\n(.*)\n[\s\S]*?(^\|[\s\S]*)<!-- \/figures -->/m.exec(text) ?? [];
  if (!table) throw new Error(`${file} has no table of figures`);
  const [columns, , ...rows] = table
    .trim()
    .split("\n")
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
  const byName = new Map(rows.map((cells) => [cells[0], cells]));
  const row = (name) => {
    const cells = byName.get(name);
    if (!cells) throw new Error(`${file} has no row "${name}"`);
    return cells;
  };
  return { head, columns, row, busy: text.includes("was busy with other work") };
}

/** The first figure before a unit in a row's second cell. */
function measured(cells, unit) {
  const [, figure] = new RegExp(`([\\d,.]+)\\s?${unit}`).exec(cells[1]) ?? [];
  if (!figure) throw new Error(`no figure in ${unit}: ${cells[1]}`);
  return Number(figure.replaceAll(",", ""));
}

const when = ({ head, busy }) =>
  [...head.split(" · ").slice(0, 2), ...(busy ? ["busy with other work"] : [])].join(" · ");
const ratio = (cells) => /^[\d.]+/.exec(cells[3])?.[0] ?? "–";
const rows = (lines) => lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");

const client = tableOf("bench/README.md");
const server = tableOf("bench/server/README.md");
const kills = tableOf("bench/kill-matrix/README.md");

const DAY = 86_400;
/** Bytes of the file for each of 20,000 pending records with a body of 40 bytes, as `test/integration/sqlite/size.test.ts` counts. */
export const PENDING_BYTES = 1392;

function sqlite() {
  const send = client.row("`send()` on SQLite, 64 in flight, against bare `ky`");
  const save = client.row("`save()` on SQLite, 256 at a time");
  const resume = client.row("`resume()` with 1,000,000 pending: first request after the file is open");
  const [sends, cpu, saves] = [measured(send, "/s"), measured(send, "µs"), measured(save, "/s")];
  return `${when(client)}

| measured | |
|---|---|
${rows([
  ["`send()`, 64 in flight, to a server on the same machine", `${number(sends)} operations a second`],
  ["the client's CPU for one", `${number(cpu)} µs`],
  ["`save()`, 256 at a time", `${number(saves)} a second`],
  ["a pending record with a body of 40 bytes, in the file", `${number(PENDING_BYTES)} bytes`],
  ["first request after opening a file with 1,000,000 pending", `${number(measured(resume, "ms"), 1)} ms`],
])}

| computed | sum | |
|---|---|---|
${rows([
  [
    "operations a day, at a tenth of the rate",
    `${number(sends)} × ${number(DAY)} × 0.1`,
    `${number((sends * DAY * 0.1) / 1e6, 1)} million`,
  ],
  ["cores for 1,000 a second", `1,000 × ${number(cpu)} µs`, number(cpu / 1000, 2)],
  ["time to record 1,000,000", `1,000,000 ÷ ${number(saves)}`, `${number(1e6 / saves)} s`],
  ["time to send 1,000,000 that waited", `1,000,000 ÷ ${number(sends)}`, `${number(1e6 / sends / 60, 1)} min`],
  [
    "file with 1,000,000 pending",
    `1,000,000 × ${number(PENDING_BYTES)} bytes`,
    `${number(PENDING_BYTES / 1000, 1)} GB`,
  ],
])}`;
}

/** Milliseconds of one operation while 64 are under way, and how many a second that makes. */
function rates() {
  const fresh = server.row("samekey: a new key, 64 connections");
  const bare = Number(/([\d.]+) ms/.exec(fresh[2])?.[1]);
  const replay = measured(server.row("samekey: a replay, 64 connections"), "ms");
  const each = { fresh: measured(fresh, "ms"), bare, replay };
  return { each, perSecond: Object.fromEntries(Object.entries(each).map(([of, ms]) => [of, Math.floor(1000 / ms)])) };
}

function postgres() {
  const { each, perSecond } = rates();
  const keys = perSecond.fresh * 0.1 * DAY * 1.1;
  return `${when(server)}

| measured, plain \`pg\`, 64 connections | |
|---|---|
${rows([
  ["a transfer under a new key", `${number(each.fresh, 2)} ms each, while 64 are under way`],
  ["the same transfer without samekey", `${number(each.bare, 2)} ms`],
  ["a replay", `${number(each.replay, 2)} ms`],
])}

| computed | sum | |
|---|---|---|
${rows([
  ["new keys a second", `1 ÷ ${number(each.fresh, 2)} ms`, number(perSecond.fresh)],
  ["without samekey", `1 ÷ ${number(each.bare, 2)} ms`, number(perSecond.bare)],
  ["replays a second", `1 ÷ ${number(each.replay, 2)} ms`, number(perSecond.replay)],
  [
    'keys in the table, at a tenth of that rate and `retention: "24h"`',
    `${number(perSecond.fresh)} × 0.1 × ${number(DAY)} × 1.1`,
    `${number(keys / 1e6)} million`,
  ],
])}`;
}

function shards() {
  const { fresh } = rates().perSecond;
  return `| shards | transactions a transfer | transfers a second, sum | |
|---|---|---|---|
${rows(
  [1, 2, 8, 32].map((n) => {
    const transactions = 1 + (n - 1) / n;
    const shown = transactions.toFixed(3).replace(/\.?0+$/, "");
    return [n, shown, `${n} × ${number(fresh)} ÷ ${shown}`, number(Math.floor((n * fresh) / transactions))];
  }),
)}`;
}

const ratiosOf = (name) => [
  ratio(server.row(`${name}: a new key, 1 connection`)),
  ratio(server.row(`${name}: a new key, 64 connections`)),
  ratio(server.row(`${name}: a replay, 1 connection`)),
  ratio(server.row(`${name}: a replay, 64 connections`)),
];
const version = (head, name) => head.split(" · ").find((part) => part.startsWith(`${name} `)) ?? name;

function servers() {
  return `${when(server)}

| | new key, 1 connection | new key, 64 | replay, 1 | replay, 64 |
|---|---|---|---|---|
${rows([
  ["samekey on `pg`", ...ratiosOf("samekey")],
  ['INSERT in progress, effect, UPDATE ("textbook")', ...ratiosOf("the textbook shape")],
  [version(server.head, "@node-idempotency/core"), ...ratiosOf("@node-idempotency/core")],
  [version(server.head, "@dbos-inc/dbos-sdk"), ...ratiosOf("DBOS")],
])}`;
}

function textbook() {
  const line = (label, name) => {
    const [one, many, replay, replays] = ratiosOf(name);
    return [label, one, many, `${replay}, ${replays}`];
  };
  return `| | new key, 1 connection | new key, 64 connections | replay, 1 and 64 |
|---|---|---|---|
${rows([
  line("textbook", "the textbook shape"),
  line("samekey, plain `pg`", "samekey"),
  line("samekey, `pipeline: true`", "samekey, pipelined"),
])}`;
}

const accidents = [
  ["killed before the server saw it", "killed on its way: the server has not seen it"],
  ["killed in flight", "killed in flight: done, not answered"],
  ["killed in flight, and the user does it again", "killed in flight: done; the user does it again"],
  ["double click", "called twice in one moment (double click)"],
  ["offline, killed, online again", "called offline, killed, started again online"],
];

/** "**200 / 0 / 0**, 5 untold" in words; 0 where nothing went wrong. */
function inWords(cell) {
  const [counts, ...others] = cell.replaceAll("*", "").split(", ");
  const [lost, twice, stuck] = counts.split(" / ").map(Number);
  const told = [lost && `${lost} lost`, twice && `${twice} twice`, stuck && `${stuck} stuck`, ...others].filter(
    Boolean,
  );
  return told.join(", ") || "0";
}

function killed() {
  const line = (label, column) => {
    const at = kills.columns.indexOf(column);
    if (at < 0) throw new Error(`the kill matrix has no column "${column}"`);
    return [label, ...accidents.map(([, row]) => inWords(kills.row(row)[at]))];
  };
  const of = (name) => version(kills.head, name);
  return `${when(kills)}

| | ${accidents.map(([label]) => label).join(" | ")} |
|---|${accidents.map(() => "---").join("|")}|
${rows([
  line("samekey (SQLite)", "samekey, SQLite"),
  line("samekey (IndexedDB)", "samekey, IndexedDB"),
  line(`${of("stripe")}, its own retries`, "stripe"),
  line(`${of("ky")}, \`retry\``, "ky"),
  line(of("workbox-background-sync"), "workbox-background-sync"),
  line(of("@tanstack/offline-transactions"), "@tanstack/offline-transactions"),
  line("by hand: stripe and a list in synced files", "stripe + a list in files"),
  line("by hand: ky and a list in IndexedDB", "ky + a list in IndexedDB"),
])}`;
}

const figures = { sqlite, postgres, shards, servers, textbook, killed };
export const pages = ["docs/scale.md", "docs/comparison.md", "docs/server.md"];

/** The page with the figures of the benches as they are now. */
export function renewed(page) {
  return read(page).replace(/(<!-- figures: (\w+) -->\n\n)[\s\S]*?(\n\n<!-- \/figures -->)/g, (_, begin, name, end) => {
    if (!figures[name]) throw new Error(`${page}: there are no figures called "${name}"`);
    return begin + figures[name]() + end;
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const page of pages) writeFileSync(join(root, page), renewed(page));
}
