import { fileURLToPath } from "node:url";

// A program of your own needs none of this: here `samekey` is what lies two directories up.
export default {
  turbopack: {
    root: fileURLToPath(new URL("../..", import.meta.url)),
    resolveAlias: { "samekey/server": "../../dist/server/index.js" },
  },
};
