import { defineConfig } from "tsup";
import { entries, privateEntries } from "./scripts/entries.mjs";

const named = (sources: string[]) =>
  Object.fromEntries(sources.map((source) => [source.replace(/\.ts$/, ""), `src/${source}`]));

export default defineConfig({
  entry: named([...entries.flatMap(([, sources]) => Object.values(sources)), ...privateEntries]),
  // All conditions of an entry have the same types, so one declaration serves them.
  // The Standard Schema types are copied in: a user need not install a package of types.
  // `@internal` keeps a constructor that only the SDK calls, and its types, out of the public surface.
  // `Sdk` is disposable: a program whose `lib` does not know that yet gets it with the types.
  dts: {
    banner: '/// <reference lib="esnext.disposable" />',
    entry: named(entries.map(([, sources]) => sources.default)),
    resolve: ["@standard-schema/spec"],
    compilerOptions: { stripInternal: true },
  },
  format: "esm",
  target: "es2022",
  platform: "neutral",
  splitting: true,
  sourcemap: true,
  clean: true,
  // esbuild strips `node:` by default, and `node:sqlite` exists under no other name.
  removeNodeProtocol: false,
  external: [/^node:/],
  // Where the crash matrix ends processes: see src/core/fault-point.ts.
  esbuildOptions(options) {
    options.dropLabels = ["FAULT"];
  },
});
