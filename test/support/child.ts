import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";

/** A program under test in a process of its own, which tells what it does with `process.send`. */
export interface Child<Message> {
  readonly process: ChildProcess;
  /** All that it has told. */
  readonly messages: readonly Message[];
  /** The first message that fits, told already or still to come. Rejects if it ends without. */
  told<M extends Message>(fits: (message: Message) => message is M): Promise<M>;
  told(fits: (message: Message) => boolean): Promise<Message>;
  /** Resolves when it has ended by itself. Rejects unless its exit code is 0. */
  ended(): Promise<void>;
  /** Ends it as a crash does. Resolves when it is gone. */
  crash(): Promise<void>;
}

export interface ChildOptions {
  readonly args?: readonly string[] | undefined;
  readonly env?: Record<string, string> | undefined;
  /** @defaultValue the Node that runs the test */
  readonly execPath?: string | undefined;
}

/** Starts a bundled program. */
export function startChild<Message>(
  path: string,
  { args = [], env = {}, execPath = process.execPath }: ChildOptions = {},
): Child<Message> {
  const child = fork(path, args, { env: { ...process.env, ...env }, execArgv: ["--enable-source-maps"], execPath });
  const messages: Message[] = [];
  const waiting = new Set<() => void>();
  const look = (): void => {
    for (const check of waiting) check();
  };
  child.on("message", (message: Message) => {
    messages.push(message);
    look();
  });
  let over = false;
  const exit = once(child, "exit").then(([code, signal]) => {
    over = true;
    look();
    return { code, signal };
  });

  const told = (fits: (message: Message) => boolean): Promise<Message> =>
    new Promise((resolve, reject) => {
      const check = (): void => {
        const found = messages.find(fits);
        if (found === undefined && !over) return;
        waiting.delete(check);
        if (found !== undefined) resolve(found);
        else reject(new Error(`the process ended; it had told ${JSON.stringify(messages)}`));
      };
      waiting.add(check);
      check();
    });

  return {
    process: child,
    messages,
    told: told as Child<Message>["told"],
    ended: async () => {
      const { code, signal } = await exit;
      if (code !== 0) throw new Error(`the process ended with ${code ?? signal}`);
    },
    crash: async () => {
      child.kill("SIGKILL");
      await exit;
    },
  };
}
