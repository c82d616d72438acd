import type { State } from "samekey";

/** Where the worker tells that it is, and stops if it is told to. */
export type Point = "saved" | "headers" | "answered" | "retry" | "hook";

/** What the worker tells. */
export type Told =
  | { readonly what: "point"; readonly point: Point }
  | { readonly what: "hook"; readonly state: State; readonly key: string }
  | { readonly what: "done"; readonly state: string; readonly key: string | undefined; readonly data: unknown };
