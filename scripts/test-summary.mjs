// The closing line of .ci/run, from Vitest's own report. A file that fails before its first test counts as one failure.
import { existsSync, readFileSync } from "node:fs";

const path = process.argv[2] ?? "reports/vitest.json";
const report = existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : { numPassedTests: 0, testResults: [] };
const tests = report.testResults.flatMap((file) => file.assertionResults);
const failed = tests.filter((test) => test.status === "failed").length;
const broken = report.testResults.filter(
  (file) => file.status === "failed" && !file.assertionResults.some((test) => test.status === "failed"),
).length;
const passed = report.numPassedTests;

console.log(`${passed} passed, ${failed + broken} failed`);
// Vitest's own verdict covers what no test stands for: an unhandled rejection, a type error, a global setup that threw.
if (report.success !== true || failed + broken > 0 || passed === 0) process.exitCode = 1;
