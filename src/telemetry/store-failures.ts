import { StoreError } from "../errors.js";
import type { Store } from "../store.js";

/** The same store; each of its verbs that fails with a `StoreError` is counted, unless it was refused by `maxPending`. */
export function countingFailures(store: Store, count: () => void): Store {
  const failed = (error: unknown): void => {
    if (error instanceof StoreError && error.code !== "store_full") count();
  };
  const counted = new Map<unknown, unknown>();
  const counting = (verb: (...args: unknown[]) => unknown): unknown => {
    const known = counted.get(verb);
    if (known) return known;
    const made = (...args: unknown[]): unknown => {
      const result = verb.apply(store, args);
      // Beside the promise, which is passed on as it is: what counts can neither delay nor change it.
      if (result instanceof Promise) result.then(undefined, failed).catch(() => {});
      return result;
    };
    counted.set(verb, made);
    return made;
  };
  return new Proxy(store, {
    get(target, name) {
      // Its own fields are private: a getter must see the store, not what stands around it.
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? counting(value as (...args: unknown[]) => unknown) : value;
    },
  });
}
