"use client";

import { useCallback, useMemo, useSyncExternalStore } from "react";
import type { CallArguments, Operations, PendingList, Sdk, Snapshot, TypesOf } from "./index.js";
import { type AnyState, type ObservedSdk, OperationObserver } from "./react/observer.js";
import type { BoundArguments, OperationState, UseOperationOptions } from "./react/types.js";

export type { BoundArguments, OperationState, UseOperationOptions } from "./react/types.js";

/**
 * One operation, followed from `send` to its outcome. `state` is `pending` from the call of `send` on, then the record's.
 * With an `intent`, what is recorded under it is shown, also after a reload, and sending joins it; without, every `send` is
 * another operation, and the latest is shown. To render it does nothing more; on a server it is `idle`.
 *
 * @example
 * ```ts
 * const payment = useOperation(sdk, "transfer", { intent: order.id });
 * const pay = () => payment.send({ src: 8842, dst: 1190, amount: 2500 });
 * ```
 */
export function useOperation<Ops extends Operations, Name extends keyof Ops & string>(
  sdk: Sdk<Ops>,
  name: Name,
  options: UseOperationOptions & { readonly intent: string },
): OperationState<
  BoundArguments<TypesOf<Ops[Name]>["body"]>,
  TypesOf<Ops[Name]>["result"],
  TypesOf<Ops[Name]>["failure"]
>;
export function useOperation<Ops extends Operations, Name extends keyof Ops & string>(
  sdk: Sdk<Ops>,
  name: Name,
  options?: UseOperationOptions,
): OperationState<CallArguments<Ops[Name]>, TypesOf<Ops[Name]>["result"], TypesOf<Ops[Name]>["failure"]>;
export function useOperation(sdk: unknown, name: string, { intent }: UseOperationOptions = {}): AnyState {
  const observer = useMemo(() => new OperationObserver(sdk as ObservedSdk, name, intent), [sdk, name, intent]);
  return useSyncExternalStore(observer.subscribe, observer.getSnapshot, observer.getServerSnapshot);
}

/** What is pending, blocked or unresolved of the present owner, oldest first; live across tabs, empty on a server. */
export function usePendingOperations({ pending }: { readonly pending: PendingList }): readonly Snapshot[] {
  const subscribe = useCallback((listener: () => void) => pending.subscribe(listener), [pending]);
  const getSnapshot = useCallback(() => pending.getSnapshot(), [pending]);
  return useSyncExternalStore(subscribe, getSnapshot, getNothing);
}

const NOTHING: readonly Snapshot[] = Object.freeze([]);
const getNothing = (): readonly Snapshot[] => NOTHING;
