export * from "./index.js";
export { createSdk, wrapFetch } from "./platform/node.js";
