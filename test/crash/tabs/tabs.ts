import { mkdtemp, rm } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { text } from "node:stream/consumers";
import { type BrowserContext, type CDPSession, chromium, type Page } from "playwright";
import { findChromium } from "../../support/chromium.js";
import type { Errand, Told } from "../matrix/errand.js";
import type { Ending, Life } from "../matrix/life.js";
import { type CellOptions, type CellReport, runCell } from "../matrix/run-cell.js";
import { startServer } from "../matrix/server.js";

/** How a tab goes: as when a person closes it, or as its process is killed. */
export type End = "closed" | "crashed";

export const ENDS: readonly End[] = ["closed", "crashed"];

/** After so many milliseconds a life hangs. */
const PATIENCE = 60_000;

const html = `<!doctype html><link rel="icon" href="data:,"><script type="module" src="/page.js"></script>`;

export interface TabCellOptions extends Omit<CellOptions, "start" | "server"> {
  readonly end: End;
}

/** A Chromium with a profile on disk, in which one tab lives at a time. */
export class Tabs {
  readonly #script: string;
  readonly #profile: string;
  readonly #context: BrowserContext;
  readonly #devtools: CDPSession;
  #told: Told[] = [];
  #onEnd: (response: ServerResponse) => void = () => {};

  /** @param script - the page's, from `bundlePage` */
  static async open(script: string): Promise<Tabs> {
    const found = await findChromium();
    if (!found) throw new Error("no Chromium found: set CHROMIUM_PATH, or run `npx playwright install chromium`");
    const profile = await mkdtemp(join(tmpdir(), "samekey-profile-"));
    const context = await chromium.launchPersistentContext(profile, { ...found });
    const devtools = await context.browser()?.newBrowserCDPSession();
    if (!devtools) throw new Error("this Chromium cannot be asked for its processes");
    return new Tabs(script, profile, context, devtools);
  }

  private constructor(script: string, profile: string, context: BrowserContext, devtools: CDPSession) {
    this.#script = script;
    this.#profile = profile;
    this.#context = context;
    this.#devtools = devtools;
  }

  /** One cell, on a site of its own. Not while another is run. */
  async runCell({ end, ...options }: TabCellOptions): Promise<CellReport> {
    const server = await startServer((request, response) => void this.#answer(request, response));
    try {
      return await runCell({ ...options, server, start: (errand) => this.#live(errand, end) });
    } finally {
      await server.close();
    }
  }

  /** Lets a new tab live once; `end` is how it goes if it does not come to the end of its errand. */
  #live(errand: Errand, end: End): Life {
    const told: Told[] = [];
    this.#told = told;
    const opening = this.#context.newPage();
    let gone: Promise<void> | undefined;
    const kill = (standing?: ServerResponse): Promise<void> => {
      gone ??= opening.then((page) => (end === "closed" ? this.#close(page, standing) : this.#crash(page)));
      return gone;
    };
    this.#onEnd = kill;
    const ended = this.#run(opening, errand).then(
      async (page): Promise<Ending> => {
        await (gone ?? page.close());
        return { killed: gone !== undefined, told };
      },
      async (error): Promise<Ending> => {
        if (!gone)
          throw new Error(
            `${error.message}; the last told was ${JSON.stringify(told.slice(-10))}, of ${JSON.stringify(errand)}`,
          );
        await gone;
        return { killed: true, told };
      },
    );
    return { began: ended, ended, kill: () => kill() };
  }

  async close(): Promise<void> {
    await this.#context.close();
    await rm(this.#profile, { recursive: true, force: true });
  }

  async #run(opening: Promise<Page>, errand: Errand): Promise<Page> {
    const page = await opening;
    await page.goto(errand.url);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const hangs = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error("it hangs")), PATIENCE);
    });
    try {
      await Promise.race([page.evaluate((given) => leadLife(given), errand), hangs]);
    } finally {
      clearTimeout(timer);
    }
    return page;
  }

  /** A tab that stands at its end goes on when it is being closed, as far as the browser lets it. */
  async #close(page: Page, standing: ServerResponse | undefined): Promise<void> {
    const closed = page.waitForEvent("close", { timeout: PATIENCE });
    const devtools = await this.#context.newCDPSession(page);
    const { targetInfo } = await devtools.send("Target.getTargetInfo");
    await this.#devtools.send("Target.closeTarget", { targetId: targetInfo.targetId });
    standing?.end();
    await closed;
  }

  /** Not by `Page.crash`: a page that stands still does not hear it. No other tab is open, so every renderer is this one's. */
  async #crash(page: Page): Promise<void> {
    const crashed = page.waitForEvent("crash", { timeout: PATIENCE });
    const { processInfo } = await this.#devtools.send("SystemInfo.getProcessInfo");
    for (const { type, id } of processInfo) if (type === "renderer") killIfThere(id);
    await crashed;
    await page.close();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url === "/end") return this.#onEnd(response);
    if (request.url === "/told") {
      this.#told.push(JSON.parse(await text(request)));
      return void response.writeHead(204).end();
    }
    const isScript = request.url === "/page.js";
    response.writeHead(200, { "content-type": isScript ? "text/javascript" : "text/html" });
    response.end(isScript ? this.#script : html);
  }
}

/** The renderer of a tab that was closed before may just be leaving. */
function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
