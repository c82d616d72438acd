import type { ParseArgsConfig, parseArgs } from "node:util";

/** What a script was called with. Does not return after `--help`, nor where an option is unknown. */
export function commandLine<Config extends ParseArgsConfig>(
  usage: string,
  config: Config,
): ReturnType<typeof parseArgs<Config>>;
