import { createRequire } from "node:module";
import { Command } from "commander";
import { doctorCommand } from "./verbs/doctor.js";
import { migrateCommand } from "./verbs/migrate.js";
import { retentionCommand } from "./verbs/retention.js";

/** The whole command line. A verb is a file below `verbs/`. */
export function createProgram(): Command {
  const { version } = createRequire(import.meta.url)("samekey/package.json") as { version: string };
  const program = new Command("samekey")
    .description("operates what samekey keeps: `samekey <verb> --help` tells more")
    .version(version)
    .showSuggestionAfterError();
  for (const verb of [doctorCommand(), migrateCommand(), retentionCommand()])
    program.addCommand(verb.copyInheritedSettings(program));
  for (const command of [program, ...program.commands]) command.exitOverride();
  return program;
}
