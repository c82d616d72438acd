/** Has every Sdk of a test file seal what it stores: the client's suite has to hold for it as it does without. */

import { vi } from "vitest";
import { instantSeal } from "./instant-seal.js";

vi.mock("../../src/client/options.js", async (importOriginal) => {
  const original = await importOriginal<typeof import("../../src/client/options.js")>();
  const resolveOptions: typeof original.resolveOptions = (options, ...rest) =>
    original.resolveOptions({ seal: instantSeal(), ...options }, ...rest);
  return { ...original, resolveOptions };
});
