import { readFileSync } from "node:fs";
import { transformSync } from "esbuild";

const AsyncFunction = (async () => {}).constructor as new (
  ...parts: string[]
) => (...args: unknown[]) => Promise<unknown>;

function read(page: string): string {
  return readFileSync(new URL(`../../${page}`, import.meta.url), "utf8");
}

/** The snippets of a page whose snippets need nothing from the text around them, by the line on which they begin. */
export function programsOf(page: string): [line: number, code: string][] {
  const text = read(page);
  return [...text.matchAll(/^```ts\n([\s\S]*?)^```/gm)].map(({ 1: code = "", index }) => {
    return [text.slice(0, index).split("\n").length, code];
  });
}

/**
 * The files that a page shows, by name: it stands in a comment on the first line of each fence.
 *
 * @param language - only fences of this one. @defaultValue all of them
 */
export function filesOf(page: string, language = "\\w+"): Map<string, string> {
  const text = read(page);
  const fence = `^\`\`\`${language}\n`;
  const named = [...text.matchAll(new RegExp(`${fence}(?://|<!--) ([\\w./-]+)(?: -->)?\n([^]*?)^\`\`\``, "gm"))];
  const all = [...text.matchAll(new RegExp(fence, "gm"))];
  if (named.length !== all.length) throw new Error(`${page} has a fence that names no file, so nothing runs it`);
  return new Map(named.map(([, name = "", code = ""]) => [name, code]));
}

/** The snippets of a page by name: `<!-- snippet: name -->` stands right above the fence. */
export function snippetsOf(page: string): Map<string, string> {
  const text = read(page);
  const named = [...text.matchAll(/<!-- snippet: ([\w-]+) -->\n```ts\n([\s\S]*?)```/g)];
  const fences = [...text.matchAll(/^```ts$/gm)];
  if (named.length !== fences.length) throw new Error(`${page} has a ts fence without a name, so nothing runs it`);
  return new Map(named.map(([, name = "", code = ""]) => [name, code]));
}

/**
 * Runs a snippet as its reader would.
 *
 * @param modules - what its imports mean
 * @param scope - what the text around it takes for granted
 * @returns the variables it declares at its top level
 */
export async function runSnippet(
  code: string,
  modules: Readonly<Record<string, object>>,
  scope: Readonly<Record<string, unknown>>,
): Promise<Record<string, unknown>> {
  const js = transformSync(code, { loader: "ts", format: "esm", target: "es2022" })
    .code.replace(
      /import (\{[^}]*\}) from "([^"]+)";/g,
      (_, names: string, from: string) => `const ${names.replace(/\bas\b/g, ":")} = modules[${JSON.stringify(from)}];`,
    )
    .replace(
      /import \* as (\w+) from "([^"]+)";/g,
      (_, name: string, from: string) => `const ${name} = modules["${from}"];`,
    )
    .replace(
      /import (\w+) from "([^"]+)";/g,
      (_, name: string, from: string) => `const ${name} = modules["${from}"].default;`,
    )
    .replace(/^export /gm, "");
  const declared = [...js.matchAll(/^(?:const|let) (?:(\w+)|\{([^}]*)\}|\[([^\]]*)\])/gm)]
    .flatMap(([, one, braces, brackets]) => (one ?? braces ?? brackets ?? "").split(","))
    .map((name) => name.split(":").pop()?.trim() ?? "")
    .filter((name) => /^\w+$/.test(name));
  const names = Object.keys(scope);
  const run = new AsyncFunction("modules", ...names, `${js}\nreturn { ${declared.join(", ")} };`);
  return (await run(modules, ...names.map((name) => scope[name]))) as Record<string, unknown>;
}
