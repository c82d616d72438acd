import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { afterAll, expect, test } from "vitest";
import { root } from "../../../scripts/entries.mjs";
import { filesOf } from "../../support/snippets.js";

mkdirSync(join(root, ".tmp"), { recursive: true });
// Below the project, so that packages are found.
const directory = mkdtempSync(join(root, ".tmp/docs-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

test.each(["react.md", "service-worker.md"])("the modules of docs/%s fit together, and with the types", (name) => {
  const modules = [...filesOf(`docs/${name}`)];
  expect(modules.length).toBeGreaterThan(3);
  const own = join(directory, name);
  mkdirSync(own);
  const files = modules.map(([path, code]) => {
    const file = join(own, path);
    writeFileSync(file, code);
    return file;
  });
  const { config } = ts.readConfigFile(join(root, "tsconfig.check.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  const program = ts.createProgram(files, options);
  const faults = files.flatMap((file) => {
    const source = program.getSourceFile(file);
    return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
  });
  expect(faults.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"))).toEqual([]);
});
