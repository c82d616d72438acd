import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { afterAll, expect, test } from "vitest";
import { root } from "../../../scripts/entries.mjs";
import { filesOf, programsOf } from "../../support/snippets.js";

mkdirSync(join(root, ".tmp"), { recursive: true });
// Below the project, so that packages are found.
const directory = mkdtempSync(join(root, ".tmp/docs-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** What strict TypeScript says against these files, each by its name. */
function faultsOf(folder: string, modules: readonly (readonly [name: string, code: string])[]): string[] {
  const own = join(directory, folder);
  mkdirSync(own, { recursive: true });
  const files = modules.map(([name, code]) => {
    const file = join(own, name);
    writeFileSync(file, code);
    return file;
  });
  const { config } = ts.readConfigFile(join(root, "tsconfig.check.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  const program = ts.createProgram(files, options);
  return files.flatMap((file, i) => {
    const source = program.getSourceFile(file);
    const faults = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
    return faults.map(({ messageText }) => `${modules[i]?.[0]}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`);
  });
}

test.each(["react.md", "service-worker.md"])("the modules of docs/%s fit together, and with the types", (name) => {
  const modules = [...filesOf(`docs/${name}`)];
  expect(modules.length).toBeGreaterThan(3);
  expect(faultsOf(name, modules)).toEqual([]);
});

test("the programs of the docs fit the types, as who copies them into a strict project needs it", () => {
  const pages = ["index", "guide", "testing", "telemetry", "inspector", "fetch", "profiles", "sealing"].map(
    (name) => `docs/${name}.md`,
  );
  const recipes = ["checkout-page", "queue-worker", "server-to-server", "testing-your-app", "wrapping-an-sdk"];
  pages.push(...recipes.map((name) => `docs/recipes/${name}.md`));
  const programs = pages.flatMap((page) => {
    const of = programsOf(page);
    expect(of.length, page).toBeGreaterThan(0);
    // With an export it is a module, though it imports nothing.
    return of.map(([line, code]) => [`${page.replaceAll("/", "-")}-${line}.ts`, `${code}\nexport {};`] as const);
  });
  expect(faultsOf("programs", programs)).toEqual([]);
});
