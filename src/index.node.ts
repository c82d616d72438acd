export * from "./index.js";
export { createSdk } from "./platform/node.js";
