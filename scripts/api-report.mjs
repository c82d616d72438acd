// docs/api.md from the built declarations: every public name of every entry, the error codes, the events.
// Without `--update` it only checks that the page is up to date. It fails on an exported name without a TSDoc summary,
// and on a type that a signature mentions but no entry exports: a user could not name it.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { entries, expectedBin, expectedExports, importName, programFile, root } from "./entries.mjs";

const page = join(root, "docs/api.md");
const dist = join(root, "dist/");
const files = entries.map(([subpath]) => join(root, expectedExports[subpath].types));
const missing = files.filter((file) => !existsSync(file));
if (missing.length > 0) fail([`not built: ${missing.join(", ")}`]);

const program = ts.createProgram(files, {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  lib: ["lib.es2023.d.ts", "lib.esnext.disposable.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"],
  types: ["node"],
  strict: true,
});
const checker = program.getTypeChecker();
const problems = [];

/** Follows re-exports to the symbol that was declared. */
const origin = (symbol) => (symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol);
const byName = (a, b) => (a.name < b.name ? -1 : 1);

const modules = entries.map(([subpath], index) => ({
  name: importName(subpath),
  exports: checker
    .getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(files[index])))
    .map((symbol) => ({ name: symbol.name, symbol: origin(symbol) }))
    .sort(byName),
}));
const exported = new Set(modules.flatMap(({ exports }) => exports.map(({ symbol }) => symbol)));

/** The declaration as written, without its own comment; those of members stay. */
function signature(symbol) {
  const texts = symbol.declarations.map((declaration) => {
    const statement = ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration;
    return statement.getText().replace(/^(export )?(declare )?/, "");
  });
  return `\`\`\`ts\n${[...new Set(texts)].join("\n").replace(/^( {4})+/gm, (run) => " ".repeat(run.length / 2))}\n\`\`\``;
}

/** The TSDoc text before the first block tag. */
function summary({ name, symbol }, module) {
  const parts = symbol.getDocumentationComment(checker);
  const text = ts
    .displayPartsToString(parts)
    .replace(/\{@link (?:\S+\s*\|\s*)?([^}]+)\}/g, "`$1`")
    .trim();
  if (!text) problems.push(`${module}: ${name} has no TSDoc summary`);
  return text;
}

/** Copied into the declarations by the build; a user takes them from their own package. */
const foreign = new Set(["StandardSchemaV1", "StandardTypedV1"]);

/** Types of ours that the declarations of a public name mention and no entry exports. */
function forgotten({ name, symbol }, module) {
  const visit = (node) => {
    const named = ts.isTypeReferenceNode(node) ? node.typeName : ts.isTypeQueryNode(node) ? node.exprName : undefined;
    const mentioned = named ?? (ts.isExpressionWithTypeArguments(node) ? node.expression : undefined);
    const target = mentioned && checker.getSymbolAtLocation(mentioned);
    if (target && isOurs(origin(target)) && !exported.has(origin(target)) && !foreign.has(target.name)) {
      problems.push(`${module}: ${name} mentions ${target.name}, which no entry exports`);
    }
    ts.forEachChild(node, visit);
  };
  for (const declaration of symbol.declarations) visit(declaration);
}

function isOurs(symbol) {
  const declaration = symbol.declarations?.[0];
  if (!declaration?.getSourceFile().fileName.startsWith(dist)) return false;
  const holder = ts.isVariableDeclaration(declaration) ? declaration.parent.parent.parent : declaration.parent;
  return ts.isSourceFile(holder);
}

/** Sorted: the compiler's own order of a union depends on what it happened to read first. */
const literals = (type) =>
  (type.isUnion() ? type.types : [type]).flatMap((each) => (each.isStringLiteral() ? [each.value] : [])).sort();
const typeOf = (symbol) => checker.getTypeOfSymbol(symbol);

/** `[code, class]` of every exported error class but the base. */
function errorCodes() {
  const classes = modules[0].exports.filter(({ name, symbol }) => {
    return symbol.flags & ts.SymbolFlags.Class && name.endsWith("Error") && name !== "SamekeyError";
  });
  return classes.flatMap(({ name, symbol }) => {
    const code = checker.getDeclaredTypeOfSymbol(symbol).getProperty("code");
    return code ? literals(typeOf(code)).map((value) => [value, name]) : [];
  });
}

/** The names that `sdk.on` takes. */
function events() {
  const sdk = modules[0].exports.find(({ name }) => name === "Sdk")?.symbol;
  const on = sdk && checker.getDeclaredTypeOfSymbol(sdk).getProperty("on");
  const parameter = on && typeOf(on).getCallSignatures()[0]?.parameters[0];
  if (!parameter) return [];
  const type = typeOf(parameter);
  return literals(type.getConstraint() ?? type);
}

/** The verbs of the command line, as the program itself knows them. */
async function commandLine() {
  const { createProgram } = await import(join(root, programFile));
  const program = createProgram();
  const lines = ["", "## Command line", "", `\`${Object.keys(expectedBin).join("`, `")}\`: ${program.description()}`];
  for (const verb of program.commands) {
    if (!verb.description()) problems.push(`the verb ${verb.name()} has no description`);
    lines.push("", `### ${program.name()} ${verb.name()}`, "", verb.description(), "", "| option | |", "|---|---|");
    for (const { flags, description, mandatory, defaultValue } of verb.options) {
      const notes = [mandatory && "required", defaultValue !== undefined && `default ${JSON.stringify(defaultValue)}`];
      const note = notes.filter(Boolean).join(", ");
      lines.push(`| \`${flags}\` | ${description}${note ? ` (${note})` : ""} |`);
    }
  }
  return lines;
}

async function render() {
  const lines = [
    "# samekey: the public surface",
    "",
    "Written by `npm run api:update` from the built declarations and checked by `npm run api`; do not edit.",
    "",
    "| import | names |",
    "|---|---|",
    ...modules.map(({ name, exports }) => `| [\`${name}\`](#${anchor(name)}) | ${exports.length} |`),
  ];
  const codes = errorCodes();
  if (codes.length > 0) {
    const classes = await import(join(root, expectedExports["."].default));
    lines.push("", "## Error codes", "", "| code | class | message |", "|---|---|---|");
    for (const [code, name] of codes) lines.push(`| \`${code}\` | \`${name}\` | ${new classes[name](code).message} |`);
  }
  lines.push(...(await commandLine()));
  if (events().length > 0) lines.push("", "## Events", "", ...events().map((event) => `- \`${event}\``));

  const seen = new Map();
  for (const { name: module, exports } of modules) {
    lines.push("", `## ${module}`);
    const again = exports.filter(({ symbol }) => seen.has(symbol));
    if (again.length > 0) {
      lines.push("", `From above: ${again.map(({ name, symbol }) => `\`${name}\` (${seen.get(symbol)})`).join(", ")}.`);
    }
    for (const each of exports.filter(({ symbol }) => !seen.has(symbol))) {
      seen.set(each.symbol, module);
      forgotten(each, module);
      lines.push("", `### ${each.name}`, "", summary(each, module), "", signature(each.symbol));
    }
  }
  return `${lines.join("\n")}\n`;
}

/** GitHub's anchor of a heading. */
function anchor(heading) {
  return heading
    .toLowerCase()
    .replace(/[^a-z0-9 _-]/g, "")
    .replaceAll(" ", "-");
}

function fail(messages) {
  for (const message of messages) console.error(message);
  process.exit(1);
}

const text = await render();
if (process.argv.includes("--update")) {
  mkdirSync(join(root, "docs"), { recursive: true });
  writeFileSync(page, text);
}
if (problems.length > 0) fail([...new Set(problems)]);
if (!existsSync(page) || readFileSync(page, "utf8") !== text) {
  fail(["docs/api.md is not up to date: run `npm run api:update` and look at what changed in the public surface"]);
}
const count = new Set(modules.flatMap(({ exports }) => exports.map(({ symbol }) => symbol))).size;
console.log(`${modules.length} entries, ${count} public names, ${errorCodes().length} error codes`);
