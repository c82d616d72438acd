import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";

const here = (program) => fileURLToPath(new URL(`../${program}`, import.meta.url));

function start(program, question) {
  const child = fork(here(program), { execArgv: ["--expose-gc"] });
  child.send(question);
  return child;
}

/** Starts a program, tells it what to do, and resolves to its answer (`done`) once it has ended. */
export function ask(program, question) {
  return new Promise((resolve, reject) => {
    let done;
    const child = start(program, question);
    child.on("message", (message) => {
      done = message;
    });
    child.once("exit", (code, signal) => {
      if (done) resolve(done.done);
      else reject(new Error(`${program} ended with ${code ?? signal}`));
    });
  });
}

/** Starts a program that runs until it is stopped, and resolves to what it says first. */
export function serve(program, question = {}) {
  return new Promise((resolve, reject) => {
    const child = start(program, question);
    child.once("message", (said) => resolve({ said, stop: () => child.kill() }));
    child.once("exit", (code, signal) => reject(new Error(`${program} ended with ${code ?? signal}`)));
  });
}
