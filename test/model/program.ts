import type { Dice } from "./world/dice.js";
import type { Habits, OperationName, Weather } from "./world/weather.js";

/** One call that describes an operation. */
export interface Operate {
  readonly do: "operate";
  /** Names the business operation, also in its body. */
  readonly ref: string;
  readonly name: OperationName;
  readonly verb: "send" | "save" | "outcome";
  readonly amount: number;
  readonly intent?: string | undefined;
  readonly key?: string | undefined;
  readonly id?: string | undefined;
  readonly lane?: string | undefined;
  readonly deadline?: number | undefined;
  /** Named by the caller, whoever is signed in. */
  readonly owner?: string | undefined;
  readonly wait?: number | undefined;
  /** After so many milliseconds the waiting is aborted. */
  readonly abort?: number | undefined;
}

/** What is done about an operation that was described earlier. */
export interface Decide {
  readonly do: "cancel" | "discard" | "retry" | "reconcile" | "attach" | "adopt";
  readonly ref: string;
  readonly owner?: string | undefined;
}

/** What is done to a client, or by its user. Lengths in milliseconds. */
export type Act =
  | { readonly do: "signIn"; readonly owner: string | undefined }
  | { readonly do: "signOut"; readonly purge: boolean; readonly next: string | undefined }
  | { readonly do: "purge"; readonly owner: string }
  | { readonly do: "start" | "stop" }
  | { readonly do: "resume"; readonly wait: number; readonly everyone: boolean }
  | { readonly do: "reload" | "crash" | "power" | "freeze" | "offline"; readonly for: number }
  | { readonly do: "jump"; readonly by: number };

/** One action of a program: when (milliseconds after the one before), and at which client. */
export type Action = { readonly at: number; readonly client: number } & (Operate | Decide | Act);

export const owners = ["alice", "bob"] as const;

/** A program at random; what it does goes by the weather's habits. */
export function drawProgram(dice: Dice, weather: Weather): readonly Action[] {
  const program: Action[] = [{ at: 0, client: 0, do: "start" }];
  const operations: Operate[] = [];
  let at = 0;
  for (let count = 0; count < weather.actions; count += 1) {
    at += dice.between(0, dice.pick(weather.pauses));
    const client = dice.between(0, weather.clients - 1);
    const action = drawAction(dice, weather, operations);
    if (action.do === "operate") operations.push(action);
    program.push({ at, client, ...action });
  }
  return program;
}

function drawAction(dice: Dice, weather: Weather, known: readonly Operate[]): Operate | Decide | Act {
  const verb: keyof Habits = dice.weighted({ ...weather.habits });
  const earlier = known.length > 0 ? dice.pick(known) : undefined;
  const ref = earlier?.ref ?? "";
  switch (verb) {
    case "send":
    case "save":
      return drawOperation(
        dice,
        weather,
        known.length,
        verb === "send" ? dice.pick(["send", "send", "outcome"]) : "save",
      );
    case "again":
      return earlier ? { ...earlier, verb: "send" } : drawOperation(dice, weather, known.length, "send");
    case "differently":
      return earlier ? { ...earlier, amount: earlier.amount + 1 } : drawOperation(dice, weather, known.length, "send");
    case "cancel":
    case "discard":
    case "retry":
    case "reconcile":
    case "attach":
      return { do: verb, ref };
    case "adopt":
      return { do: verb, ref, owner: dice.pick(owners) };
    case "signIn":
      return { do: verb, owner: dice.pick([...owners, undefined]) };
    case "signOut":
      return { do: verb, purge: dice.chance(0.2), next: dice.pick([...owners, undefined]) };
    case "purge":
      return { do: verb, owner: dice.pick(owners) };
    case "start":
    case "stop":
      return { do: verb };
    case "resume":
      return { do: verb, wait: dice.pick([500, 30_000]), everyone: dice.chance(0.3) };
    case "reload":
    case "crash":
    case "power":
      return { do: verb, for: dice.pick([1, 500, 20_000]) };
    case "freeze":
      return { do: verb, for: dice.between(1, weather.freeze) };
    case "offline":
      return { do: verb, for: dice.pick([1_000, 60_000]) };
    case "jump":
      return { do: verb, by: dice.between(-weather.jump, weather.jump) };
  }
}

function drawOperation(dice: Dice, weather: Weather, count: number, verb: Operate["verb"]): Operate {
  const ref = `r${count + 1}`;
  const name = dice.weighted({ ...weather.operations });
  return {
    do: "operate",
    ref,
    name,
    verb,
    amount: dice.between(1, 9),
    intent: name === "order" || dice.chance(0.7) ? ref : undefined,
    key: dice.chance(0.1) ? `own-${ref}` : undefined,
    id: dice.chance(weather.ids) ? `id-${ref}` : undefined,
    lane: dice.chance(weather.lanes) ? dice.pick(["x", "y"]) : undefined,
    deadline: dice.chance(weather.deadlines) ? dice.pick([10_000, 300_000]) : undefined,
    owner: dice.chance(0.05) ? dice.pick(owners) : undefined,
    wait: dice.chance(0.3) ? dice.pick([10, 3_000, 60_000]) : undefined,
    abort: dice.chance(0.2) ? dice.pick([1, 100, 10_000]) : undefined,
  };
}
