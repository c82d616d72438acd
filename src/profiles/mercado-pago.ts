import type { Profile } from "../core/profile.js";
import { defineProfile } from "./define.js";

/**
 * Mercado Pago: every write takes a key. Its 409 says "processing or already paid": retried for a bounded time, then it
 * needs someone to look.
 *
 * Unverified: how long a key is kept (pass `retention`), and the answer to another body.
 *
 * @see https://www.mercadopago.com/developers/en/reference
 */
export const mercadoPago: Profile = defineProfile({ name: "mercado-pago", header: "x-idempotency-key" });
