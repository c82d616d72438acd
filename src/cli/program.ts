import { createRequire } from "node:module";
import { Command } from "commander";
import { discardCommand } from "./verbs/discard.js";
import { doctorCommand } from "./verbs/doctor.js";
import { exportCommand } from "./verbs/export.js";
import { importCommand } from "./verbs/import.js";
import { listCommand } from "./verbs/list.js";
import { migrateCommand } from "./verbs/migrate.js";
import { pruneCommand } from "./verbs/prune.js";
import { reconcileCommand } from "./verbs/reconcile.js";
import { reissueCommand } from "./verbs/reissue.js";
import { resumeCommand } from "./verbs/resume.js";
import { retentionCommand } from "./verbs/retention.js";
import { retryCommand } from "./verbs/retry.js";
import { showCommand } from "./verbs/show.js";
import { statsCommand } from "./verbs/stats.js";
import { verifyCommand } from "./verbs/verify.js";

/** Every verb, under what it is about. */
const groups: Readonly<Record<string, readonly (() => Command)[]>> = {
  "Look at operations:": [listCommand, showCommand, statsCommand, verifyCommand],
  "Decide about operations:": [retryCommand, reconcileCommand, reissueCommand, discardCommand, resumeCommand],
  "Keep a store:": [pruneCommand, exportCommand, importCommand],
  "Servers:": [doctorCommand, migrateCommand, retentionCommand],
};

/** The whole command line. A verb is a file below `verbs/`. */
export function createProgram(): Command {
  const { version } = createRequire(import.meta.url)("samekey/package.json") as { version: string };
  const program = new Command("samekey")
    .description("operates what samekey keeps: `samekey <verb> --help` tells more")
    .version(version)
    .showSuggestionAfterError();
  for (const [group, verbs] of Object.entries(groups))
    for (const verb of verbs) program.addCommand(verb().helpGroup(group).copyInheritedSettings(program));
  for (const command of [program, ...program.commands]) command.exitOverride();
  return program;
}
