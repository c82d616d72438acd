import { Buffer } from "node:buffer";
import type { Pool } from "pg";
import { createSdk, type OperationRecord, type Profile, post, type RetryOptions, type State } from "samekey";
import { postgresStore } from "samekey/stores/postgres";
import { type Credit, giveBack } from "./credits.js";
import { shardOf } from "./routing.js";

export interface RelayOptions {
  /** The shard that the money is taken from. */
  readonly pool: Pool;
  readonly shards: number;
  /** Where the credit endpoint is at this moment. */
  readonly address: () => string;
  readonly token: string;
  readonly retry?: RetryOptions | undefined;
}

export type Relay = ReturnType<typeof createRelay>;

/** Only an answer that speaks for the key decides. All else comes from something in between: tried again, for ever. */
const untilDecided: Profile = {
  name: "credits",
  read: ({ speaks, status, after }) => {
    if (speaks) return undefined;
    // The transfer's credit was another one: no retry helps, only a person.
    if (status === 422) return { kind: "blocked", by: "refused", certain: false };
    return { kind: "retry", certain: false, after };
  },
};

/**
 * Carries the credits that one shard has recorded to the shards of their accounts, and takes the money back if one is
 * refused. Any number of processes may run one on the same database.
 */
export function createRelay({ pool, shards, address, token, retry }: RelayOptions) {
  // A record keeps its URL for good, and servers move: so it names the service, which is looked up at every attempt.
  // Each shard has a name of its own, so that one that is down holds back no credits to the others.
  const request = (path: string, init: RequestInit = {}): Promise<Response> => {
    const headers = new Headers(init.headers);
    headers.set("authorization", `Bearer ${token}`);
    return fetch(new URL(path, address()), { ...init, headers });
  };

  const sdk = createSdk({
    name: "credits",
    owner: "single",
    store: postgresStore({ pool }),
    // The endpoint never forgets a transfer. So nothing ends this but its answer, however long that takes.
    retention: "100y",
    profile: untilDecided,
    retry: { backgroundCap: "30s", ...retry },
    attemptTimeout: "10s",
    fetch: (input, init) => request(new URL(String(input)).pathname, init),
    operations: {
      credit: post<Credit, Credit>(({ account }) => `http://shard-${shardOf(account, shards)}.bank.internal/credits`, {
        intent: "required",
        reconcile: async (record) => {
          const { transfer, account } = creditOf(record);
          const response = await request(`/credits/${transfer}?account=${account}`);
          if (!response.ok) return "unknown";
          const { refusal } = (await response.json()) as { refusal: string | null };
          return refusal === null ? "applied" : "not-applied";
        },
        settled: async (record): Promise<void> => {
          if (notApplied.includes(record.state)) await giveBack(pool, creditOf(record).transfer);
          // It may have arrived, so nothing is given back. To send it once more is safe: it counts once.
          if (record.state === "unresolved") await sdk.retry(record.id);
        },
      }),
    },
  });
  for (const event of ["blocked", "unresolved"] as const) {
    sdk.on(event, ({ intent, code }) => console.error(`the credit of transfer ${intent} is ${event}: ${code}`));
  }
  return sdk;
}

const notApplied: readonly State[] = ["rejected", "misused", "expired", "canceled"];

function creditOf({ request }: OperationRecord): Credit {
  return JSON.parse(Buffer.from(request.body ?? new ArrayBuffer(0)).toString());
}
