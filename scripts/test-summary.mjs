// The closing line of .ci/run, from Vitest's own reports: `node scripts/test-summary.mjs REPORT…`.
// A file that fails before its first test counts as one failure.
import { existsSync, readFileSync } from "node:fs";

const isFailed = ({ status }) => status === "failed";
const sum = (numbers) => numbers.reduce((total, each) => total + each, 0);

const reports = process.argv.slice(2).filter(existsSync);
const results = reports.map((path) => JSON.parse(readFileSync(path, "utf8")));
const files = results.flatMap(({ testResults }) => testResults);
const passed = sum(results.map(({ numPassedTests }) => numPassedTests));
const failed = sum(files.map((file) => file.assertionResults.filter(isFailed).length || Number(isFailed(file))));

console.log(`${passed} passed, ${failed} failed`);
if (passed === 0 || failed > 0 || results.some(({ success }) => success !== true)) process.exitCode = 1;
