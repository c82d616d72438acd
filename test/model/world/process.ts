/** What runs of one client: a tab or a process. All that comes from outside reaches it through here. */
export class Process {
  readonly name: string;
  #alive = true;
  #frozen = false;
  readonly #waiting: (() => void)[] = [];

  constructor(name: string) {
    this.name = name;
  }

  get alive(): boolean {
    return this.#alive;
  }

  get frozen(): boolean {
    return this.#frozen;
  }

  /** Nothing that was under way comes back, as after SIGKILL. */
  kill(): void {
    this.#alive = false;
    this.#waiting.length = 0;
  }

  /** Nothing comes in until {@link thaw}, and then all of it at once. */
  freeze(): void {
    this.#frozen = true;
  }

  thaw(): void {
    this.#frozen = false;
    for (const task of this.#waiting.splice(0)) this.enter(task);
  }

  /** Lets something in. */
  enter(task: () => void): void {
    if (!this.#alive) return;
    if (this.#frozen) this.#waiting.push(task);
    else task();
  }

  /** The promise as the process sees it. */
  receive<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      promise.then(
        (value) => this.enter(() => resolve(value)),
        (error: unknown) => this.enter(() => reject(error)),
      );
    });
  }
}
