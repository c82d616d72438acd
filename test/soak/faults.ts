import type { Random } from "../../examples/demo/random.js";

/** What becomes of one request. */
export type Fault =
  | "none"
  /** The connection breaks before anything is done. */
  | "lose request"
  /** It is done; the connection breaks before the answer. */
  | "lose response"
  /** It is done; the answer breaks off in the middle of its body. */
  | "cut body"
  /** A gateway says so, and nothing is done. */
  | "503"
  /** It is done, and then something in front of it says 502. */
  | "502 afterwards"
  /** It is done; the answer takes longer than an attempt may. */
  | "stall"
  /** It is said to be in progress, whether it is done or not. */
  | "409";

/** How often each happens, in per mille. */
const odds: Readonly<Record<Exclude<Fault, "none">, number>> = {
  "lose request": 40,
  "lose response": 40,
  "cut body": 30,
  "503": 30,
  "502 afterwards": 20,
  stall: 5,
  "409": 20,
};

/** Draws faults by their odds. */
export function faultsFrom(random: Random): () => Fault {
  return () => {
    let lot = random() * 1_000;
    for (const [fault, chance] of Object.entries(odds)) {
      lot -= chance;
      if (lot < 0) return fault as Fault;
    }
    return "none";
  };
}
