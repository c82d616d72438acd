/** While it lasts, whoever asks for real time or chance is refused: nothing in a run may depend on them. */
export async function withoutRealTime<T>(run: () => Promise<T>): Promise<T> {
  const { setTimeout, setInterval } = globalThis;
  const { now } = Date;
  const { random } = Math;
  const refuse = (what: string) => (): never => {
    throw new Error(`${what} has no place in a run of the model`);
  };
  Object.assign(globalThis, { setTimeout: refuse("setTimeout"), setInterval: refuse("setInterval") });
  Date.now = refuse("Date.now");
  Math.random = refuse("Math.random");
  try {
    return await run();
  } finally {
    Object.assign(globalThis, { setTimeout, setInterval });
    Date.now = now;
    Math.random = random;
  }
}
