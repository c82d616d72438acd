import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { manifest } from "../../../scripts/entries.mjs";

const root = fileURLToPath(new URL("../../..", import.meta.url));

interface Ending {
  readonly code: unknown;
  readonly stdout: string;
  readonly stderr: string;
}

function run(script: string, ...args: string[]): Promise<Ending> {
  const [program, ...first] = (manifest.scripts[script] ?? "").split(" ");
  expect(program).toBe("node");
  return new Promise((resolve) => {
    execFile(process.execPath, [...first, ...args], { cwd: root }, (error, stdout, stderr) =>
      resolve({ code: error ? error.code : 0, stdout, stderr }),
    );
  });
}

const scripts = ["crash", "model", "soak", "demo", "bench", "bench:server", "bench:kill-matrix"];

describe.each(scripts)("npm run %s", (script) => {
  it("tells with --help how it is used, and runs nothing", async () => {
    const { code, stdout, stderr } = await run(script, "--help");
    expect(stdout).toMatch(new RegExp(`^npm run ${script} -- \\[options\\][\\s\\S]*\\n  --`));
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });

  it("refuses an option that it does not know, by its name", async () => {
    const { code, stdout, stderr } = await run(script, "--sed", "7");
    expect(stderr).toMatch(/^Unknown option '--sed'\n[\s\S]*\n {2}--/);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  });
});
