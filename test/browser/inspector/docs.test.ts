import { createSdk } from "samekey";
import { defineInspector } from "samekey/inspector";
import { afterEach, expect, test, vi } from "vitest";
// @ts-expect-error Vite reads the page as it is.
import docs from "../../../docs/inspector.md?raw";

afterEach(() => document.body.replaceChildren());

test("the program of docs/inspector.md shows what its Sdk records", async () => {
  const [, program = ""] = /^```ts\n([\s\S]*?)^```/m.exec(docs as string) ?? [];
  const code = program.replace(/^import .*\n/gm, "");
  const run = new Function("createSdk", "defineInspector", `${code}\nreturn inspector;`);
  const inspector = run(createSdk, defineInspector) as HTMLElement;
  await vi.waitFor(() => expect(inspector.shadowRoot?.textContent).toContain("Nothing to show."), 10_000);
});
