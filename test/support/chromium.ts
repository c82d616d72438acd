/** Finds a Chromium for the tests without root and without a download that npm did not already make. */

import { spawn } from "node:child_process";
import { accessSync, constants, createReadStream, createWriteStream, existsSync } from "node:fs";
import { mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir, userInfo } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createBrotliDecompress } from "node:zlib";
import { chromium as playwrightChromium } from "playwright";

/** What `chromium.launch()` of Playwright needs: `chromium.launch({ ...(await findChromium()) })`. */
export interface Chromium {
  executablePath: string;
  args: string[];
  env: Record<string, string>;
  /** Where it was found, for a person to read. */
  source: "CHROMIUM_PATH" | "playwright" | "system" | "npm";
}

/** Nothing may leave the machine, and a container has neither a GPU nor a user namespace for the sandbox. */
const args = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/**
 * Looks at `CHROMIUM_PATH`, Playwright's own, the system's, then the one that npm brought (linux-x64 only).
 *
 * @returns `undefined` where there is none; under `CI` that is an error, so that no browser test is skipped unseen.
 */
export async function findChromium(): Promise<Chromium | undefined> {
  const found = (await fromEnvironment()) ?? fromPlaywright() ?? fromSystem() ?? (await fromNpm());
  if (!found && process.env["CI"]) {
    throw new Error("no Chromium found: set CHROMIUM_PATH, or run `npx playwright install chromium`");
  }
  return found;
}

function chromium(source: Chromium["source"], executablePath: string, extra: Record<string, string> = {}): Chromium {
  const inherited = Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return { executablePath, args: [...args], env: { ...Object.fromEntries(inherited), ...extra }, source };
}

async function fromEnvironment(): Promise<Chromium | undefined> {
  const path = process.env["CHROMIUM_PATH"];
  if (!path) return undefined;
  if (!isExecutable(path)) throw new Error(`CHROMIUM_PATH is no executable file: ${path}`);
  return chromium("CHROMIUM_PATH", path);
}

function fromPlaywright(): Chromium | undefined {
  const path = playwrightChromium.executablePath();
  return existsSync(path) ? chromium("playwright", path) : undefined;
}

function fromSystem(): Chromium | undefined {
  const names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
  const onPath = (process.env["PATH"] ?? "").split(delimiter).flatMap((dir) => names.map((name) => join(dir, name)));
  const path = [...onPath, "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"].find(isExecutable);
  return path ? chromium("system", path) : undefined;
}

async function fromNpm(): Promise<Chromium | undefined> {
  if (process.platform !== "linux" || process.arch !== "x64") return undefined;
  const root = packaged();
  if (!root) return undefined;
  const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as { version: string };
  const home = join(tmpdir(), `samekey-chromium-${version}-${userInfo().uid}`);
  if (!existsSync(home)) await inflate(join(root, "bin"), home);
  return chromium("npm", join(home, "chromium"), {
    LD_LIBRARY_PATH: [join(home, "lib"), process.env["LD_LIBRARY_PATH"]].filter(Boolean).join(":"),
    FONTCONFIG_FILE: join(home, "samekey-fonts.conf"),
  });
}

/** The folder of the npm package, where it is installed. */
function packaged(): string | undefined {
  try {
    return join(dirname(createRequire(import.meta.url).resolve("@sparticuz/chromium")), "../..");
  } catch {
    return undefined;
  }
}

/** Inflates beside `home` and renames, so that two runs at once, or one that is killed, leave no half of a browser. */
async function inflate(bin: string, home: string): Promise<void> {
  const draft = await mkdtemp(`${home}-`);
  try {
    await pipeline(
      createReadStream(join(bin, "chromium.br")),
      createBrotliDecompress({ chunkSize: 2 ** 21 }),
      createWriteStream(join(draft, "chromium"), { mode: 0o755 }),
    );
    for (const name of ["al2023", "fonts"]) await untar(join(bin, `${name}.tar.br`), draft);
    // The packaged fonts.conf names the folders of a cloud function.
    const fonts = `<fontconfig><dir>${join(home, "fonts")}</dir><cachedir>${join(home, "cache")}</cachedir></fontconfig>`;
    await writeFile(join(draft, "samekey-fonts.conf"), `<?xml version="1.0"?>\n${fonts}\n`);
    await rename(draft, home);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    if (!existsSync(home)) throw error;
  }
}

async function untar(archive: string, into: string): Promise<void> {
  const tar = spawn("tar", ["-xf", "-", "--no-same-owner", "-C", into], { stdio: ["pipe", "ignore", "inherit"] });
  const closed = new Promise<void>((resolve, reject) => {
    tar.once("error", reject);
    tar.once("close", (code) => (code === 0 ? resolve() : reject(new Error(`tar ended with ${code}: ${archive}`))));
  });
  await Promise.all([pipeline(createReadStream(archive), createBrotliDecompress(), tar.stdin), closed]);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
