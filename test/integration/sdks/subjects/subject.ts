import type { WrapFetchOptions, WrappedFetch } from "samekey";

/** An SDK, as a program uses it over the wrapped `fetch`. */
export interface Subject {
  /** What the wrapped `fetch` is told of the API. */
  readonly options: (url: string) => Pick<WrapFetchOptions, "only"> & Partial<WrapFetchOptions>;
  /** Makes the SDK's client and one call, the same whenever it is made. Resolves to what the SDK made of the answer. */
  readonly pay: (fetch: WrappedFetch, url: string) => Promise<unknown>;
}
