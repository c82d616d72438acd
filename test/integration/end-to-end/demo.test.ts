import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterEach, expect, it } from "vitest";

const program = fileURLToPath(new URL("../../../examples/demo/run.js", import.meta.url));
let demo: ChildProcess | undefined;

afterEach(async () => {
  if (demo === undefined || demo.exitCode !== null || demo.signalCode !== null) return;
  demo.kill("SIGTERM");
  await once(demo, "exit");
});

async function run(...options: string[]): Promise<{ code: number; output: string }> {
  const child = spawn(process.execPath, [program, "--transfers", "30", ...options], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  demo = child;
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, "exit")]);
  return { code, output };
}

it("the demo keeps the promise", async () => {
  const { code, output } = await run();
  expect(output).toMatch(/^ +kills \(SIGKILL\) +[1-9]\d*$/m);
  expect(output).toMatch(/^ +shards +2$/m);
  expect(output).toMatch(/^ +server killed and started again +2$/m);
  expect(output).toMatch(/^ +a shard crashed and started again +1$/m);
  expect(output).toMatch(/^ +credits relayed +[1-9]\d*$/m);
  expect(output).toMatch(/^ +refused, and the money given back +1$/m);
  expect(output).toMatch(/^ +money under way +0$/m);
  expect(output).toMatch(/^ +ledger entries .* +60$/m);
  expect(output).toMatch(/^ +duplicates +0$/m);
  expect(output).toMatch(/^ +lost +0$/m);
  // What it told on the way counts the same things as the table.
  const told = /^30 of 30 transfers · (\d+) kills · \d+ of the server · \d of a shard · (\d+) attempts$/m.exec(output);
  for (const [i, row] of [/^ +kills .* (\d+)$/m, /^ +attempts +(\d+)$/m].entries()) {
    expect(Number(told?.[i + 1])).toBeLessThanOrEqual(Number(row.exec(output)?.[1]));
  }
  expect(code).toBe(0);
});

it("the demo sees when the promise is broken", async () => {
  const { code, output } = await run("--new-keys");
  expect(output).toMatch(/^ +duplicates +[1-9]\d*$/m);
  expect(code).toBe(1);
});
