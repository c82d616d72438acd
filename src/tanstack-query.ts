import type { QueryClient, QueryKey } from "@tanstack/react-query";
import type {
  CallOptions,
  OperationHandle,
  OperationRecord,
  Operations,
  SamekeyError,
  Sdk,
  State,
  TypesOf,
} from "./index.js";

/** Options of {@link operationMutation}. */
export interface OperationMutationOptions<Body, Intent extends MutationIntent<Body> | undefined> {
  /** The caller's own name for what is being done; required where the operation requires one. */
  readonly intent: Intent;
}

/** An intent, or how it follows from a mutation's variables. */
export type MutationIntent<Body> = string | ((body: Body) => string);

/** The options that follow the operation's name: they may be absent unless it requires an intent. */
export type MutationArguments<Body, Intent> = "required" extends Intent
  ? [options: OperationMutationOptions<Body, MutationIntent<Body>>]
  : [options?: Partial<OperationMutationOptions<Body, MutationIntent<Body> | undefined>>];

/** What {@link operationMutation} answers with, for `useMutation`. */
export interface OperationMutation<Body, Result> {
  readonly mutationKey: readonly ["samekey", name: string];
  readonly mutationFn: (body: Body) => Promise<Result>;
  /** Always `false`: samekey repeats what may be repeated. */
  readonly retry: false | ((failureCount: number, error: SamekeyError) => boolean);
  /** Offline too an operation has to be recorded before all else; samekey itself waits for the network. */
  readonly networkMode: "always";
}

/** Options of {@link connectQueryClient}. */
export interface ConnectOptions<Ops extends Operations> {
  /** By operation: the queries that are out of date once it is settled or its outcome is unknown. */
  readonly invalidates?: { readonly [Name in keyof Ops]?: readonly QueryKey[] | undefined } | undefined;
}

/** An Sdk, whatever its operations. */
interface AnySdk {
  operation(name: string, body: unknown, call: CallOptions): OperationHandle;
}

/** Operations that mutations of this page are sending: they need not be taken up. */
const sending = new WeakMap<object, Set<string>>();

const UNDER_WAY: readonly State[] = ["pending", "blocked"];

/**
 * Options for `useMutation` that send one operation: recorded before it is sent, taken up again after a reload by
 * {@link connectQueryClient}. The mutation's data is the operation's result, its error a `SamekeyError`.
 *
 * @example
 * ```ts
 * const payment = useMutation(operationMutation(sdk, "transfer", { intent: order.id }));
 * ```
 */
export function operationMutation<Ops extends Operations, Name extends keyof Ops & string>(
  sdk: Sdk<Ops>,
  name: Name,
  ...[options]: MutationArguments<TypesOf<Ops[Name]>["body"], TypesOf<Ops[Name]>["intent"]>
): OperationMutation<TypesOf<Ops[Name]>["body"], TypesOf<Ops[Name]>["result"]> {
  const intent = options?.intent;
  return {
    mutationKey: ["samekey", name],
    mutationFn: async (body) => {
      const call = { intent: typeof intent === "function" ? intent(body) : intent };
      const handle = (sdk as unknown as AnySdk).operation(name, body, call);
      const ids = sending.get(sdk) ?? new Set();
      sending.set(sdk, ids);
      const id = handle.getSnapshot().id ?? "";
      ids.add(id);
      try {
        return (await handle.send()).data as TypesOf<Ops[Name]>["result"];
      } finally {
        ids.delete(id);
      }
    },
    retry: false,
    networkMode: "always",
  };
}

/**
 * Takes up, as mutations of this client, the present owner's operations that an earlier page left under way: hooks as
 * `useMutationState` see them `pending` with their variables, then `success` or `error`, and callbacks that were given to
 * `setMutationDefaults` are called. Invalidates queries when operations settle. Call it once, where the client is made.
 *
 * @returns the way to stop; what was taken up goes on
 *
 * @example
 * ```ts
 * connectQueryClient(sdk, queryClient, { invalidates: { transfer: [["accounts"]] } });
 * ```
 */
export function connectQueryClient<Ops extends Operations>(
  sdk: Sdk<Ops>,
  queryClient: QueryClient,
  { invalidates = {} }: ConnectOptions<Ops> = {},
): () => void {
  const cache = queryClient.getMutationCache();
  /** What was taken up, and whether its end is told. Another tab may be the one that sees it settle. */
  const taken = new Map<string, boolean>();
  let isConnected = true;

  function invalidate({ id, name }: OperationRecord): void {
    const isTold = taken.get(id);
    if (isTold) taken.delete(id);
    else if (isTold === false) taken.set(id, true);
    if (isTold || !isConnected) return;
    for (const queryKey of invalidates[name] ?? []) void queryClient.invalidateQueries({ queryKey });
  }

  async function takeUp(record: OperationRecord): Promise<void> {
    const { id, name, createdAt } = record;
    const handle = sdk.attach(id);
    await handle.save();
    const earlier = cache.getAll().find(({ meta }) => meta?.["operation"] === id);
    if (!isConnected || sending.get(sdk)?.has(id) || earlier?.state.status === "pending") return;
    if (earlier) cache.remove(earlier);
    taken.set(id, false);
    const mutation = cache.build<unknown, SamekeyError, unknown, unknown>(
      queryClient,
      {
        mutationKey: ["samekey", name],
        mutationFn: async () => (await handle.send()).data,
        retry: false,
        networkMode: "always",
        meta: { operation: id },
      },
      {
        status: "pending",
        variables: handle.getSnapshot().input,
        submittedAt: createdAt,
        context: undefined,
        data: undefined,
        error: null,
        failureCount: 0,
        failureReason: null,
        isPaused: false,
      },
    );
    const end = (): void => {
      if (!UNDER_WAY.includes(handle.getSnapshot().state as State)) invalidate(record);
    };
    mutation.continue().then(end, end);
  }

  async function takeUpAll(): Promise<void> {
    try {
      for await (const record of sdk.list({ states: UNDER_WAY })) {
        // Pruned or purged in this very moment.
        await takeUp(record).catch(() => {});
      }
    } catch {
      // A store that cannot be read tells so to whoever sends.
    }
  }

  const stops = [
    sdk.on("settled", invalidate),
    sdk.on("unresolved", invalidate),
    sdk.on("ownerchange", () => void takeUpAll()),
  ];
  void takeUpAll();
  return () => {
    isConnected = false;
    for (const stop of stops) stop();
  };
}
