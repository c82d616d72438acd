export * from "./index.js";
export { createSdk } from "./platform/browser.js";
