import { build } from "esbuild";

/** One program out of a module and what it imports, for the browser or for Node. */
export function bundle({ entry, contents, outfile, platform, alias, resolveDir }) {
  const input = contents === undefined ? { entryPoints: [entry] } : { stdin: { contents, resolveDir } };
  return build({
    ...input,
    outfile,
    alias,
    bundle: true,
    format: platform === "worker" ? "iife" : "esm",
    platform: platform === "node" ? "node" : "browser",
    target: "es2022",
    define: { "process.env.NODE_ENV": '"production"' },
    ...(platform === "node"
      ? {
          external: ["better-sqlite3"],
          banner: {
            js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
          },
        }
      : { conditions: ["browser"], minify: true }),
    logLevel: "error",
  });
}
