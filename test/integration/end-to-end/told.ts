import type { ResumeReport } from "samekey";

/** What the worker tells. */
export type Told =
  | { readonly what: "resumed"; readonly report: ResumeReport }
  | { readonly what: "done"; readonly key: string; readonly source: string; readonly transfer: string };
