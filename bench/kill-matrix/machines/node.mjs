import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";

/** Processes of one program, one for each order, each with a directory of its own. They are killed together. */
export class NodeMachine {
  #options;
  #clients = [];

  constructor(options) {
    this.#options = options;
  }

  async start() {
    const { size, tabs = 1, home, program, port, window } = this.#options;
    const one = async (number) => {
      const directory = join(home, String(number));
      await mkdir(directory, { recursive: true });
      const child = fork(program, [JSON.stringify({ directory, port, window })]);
      const ended = once(child, "exit").then(([code, signal]) =>
        Promise.reject(new Error(`ended with ${code ?? signal}`)),
      );
      await Promise.race([once(child, "message"), ended]);
      ended.catch(() => {});
      return child;
    };
    const all = Array.from({ length: size }, (_, i) => Promise.all(Array.from({ length: tabs }, () => one(i))));
    this.#clients = await Promise.all(all);
  }

  async submit(orders, { times = 1 } = {}) {
    const told = orders.flatMap((order, i) => this.#clients[i].map((child) => ask(child, { submit: order, times })));
    await Promise.all(told);
  }

  async submitAndDie(orders) {
    const gone = orders.flatMap((order, i) => this.#clients[i].map((child) => {
      child.send({ submit: order, die: true });
      return once(child, "exit");
    })); // biome-ignore format: one thought
    await Promise.all(gone);
  }

  status(order, i) {
    return ask(this.#clients[i][0], { status: order });
  }

  /** There is no such thing here: a process has no idea whether there is a network. */
  async offline() {}

  async kill() {
    const children = this.#clients
      .flat()
      .filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
    await Promise.all(
      children.map((child) => {
        child.kill("SIGKILL");
        return once(child, "exit");
      }),
    );
  }
}

async function ask(child, question) {
  child.send(question);
  const [answer] = await once(child, "message");
  return answer;
}
