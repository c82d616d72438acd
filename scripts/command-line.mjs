import process from "node:process";
import { parseArgs } from "node:util";

/**
 * What a script was called with. `--help` prints how it is used and ends it; an option that it does not know is named, and
 * ends it with 2.
 */
export function commandLine(usage, config) {
  try {
    const given = parseArgs({ ...config, options: { ...config.options, help: { type: "boolean", short: "h" } } });
    if (!given.values.help) return given;
    console.log(usage.trim());
    process.exit(0);
  } catch (error) {
    if (!/^ERR_PARSE_ARGS/.test(error.code)) throw error;
    console.error(`${error.message.split(". ")[0]}\n\n${usage.trim()}`);
    process.exit(2);
  }
}
