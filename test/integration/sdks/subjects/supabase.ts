import { createClient, type SupabaseClient } from "@supabase/supabase-js";
import type { Subject } from "./subject.js";

const key = "sb_publishable_1";

export const supabase: Subject = {
  options: (url) => ({
    baseUrl: url,
    only: ["/rest/v1/payments", "/rest/v1/rpc/transfer", "/storage/v1/object"],
    headers: () => ({ apikey: key, authorization: `Bearer ${key}` }),
  }),
  pay: async (fetch, url) => {
    const { data, error } = await supabaseOver(fetch, url)
      .from("payments")
      .upsert({ id: "7", amount: 5, to: "ä" })
      .setHeader("Idempotency-Key", "order-1")
      .select();
    return data ?? error;
  },
};

/** The SDK as a program makes it. */
export function supabaseOver(fetch: typeof globalThis.fetch, url: string): SupabaseClient {
  return createClient(url, key, {
    global: { fetch },
    auth: { persistSession: false, autoRefreshToken: false },
    // Node 20 has no WebSocket of its own, and nothing here listens.
    realtime: { transport: class {} as never },
  });
}
