// docs/reference from the sources: a page for each entry, named as it is imported. The site shows it; nobody commits it.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { Application } from "typedoc";
import { entries, importName, root } from "./entries.mjs";

const out = join(root, "docs/reference");

const app = await Application.bootstrapWithPlugins({
  plugin: ["typedoc-plugin-markdown"],
  entryPoints: entries.map(([, sources]) => join(root, "src", sources.default)),
  tsconfig: join(root, "tsconfig.json"),
  excludeInternal: true,
  excludePrivate: true,
  // What comes with HTMLElement and Error is told elsewhere.
  excludeExternals: true,
  disableSources: true,
  readme: "none",
  githubPages: false,
  logLevel: "Warn",
  router: "module",
  entryFileName: "index",
  hidePageHeader: true,
  hideBreadcrumbs: true,
  useCodeBlocks: true,
  // What is called stands before what it takes.
  groupOrder: ["Functions", "Classes", "Interfaces", "Type Aliases", "Variables"],
  expandObjects: false,
  parametersFormat: "table",
  outputs: [{ name: "markdown", path: out }],
});

const project = await app.convert();
if (!project) throw new Error("the sources do not compile: run `npm run types`");
const names = new Map(entries.map(([subpath, sources]) => [sources.default.replace(/\.ts$/, ""), importName(subpath)]));
for (const module of project.children ?? []) {
  const name = names.get(module.name) ?? names.get(`${module.name}/index`);
  if (!name) throw new Error(`no entry is named for ${module.name}`);
  module.name = name;
}

rmSync(out, { recursive: true, force: true });
await app.generateOutputs(project);
if (app.logger.hasErrors()) process.exit(1);
