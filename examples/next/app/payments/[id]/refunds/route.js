import { idempotentFetch } from "samekey/server";
import { idempotency } from "../../../../idempotency.js";

// What Next.js passes to a route besides the request comes last.
export const POST = idempotentFetch(idempotency, { scope: "refunds" }, async (_request, { tx, key }, { params }) => {
  const { id } = await params;
  await tx.query("INSERT INTO effects (key) VALUES ($1)", [key]);
  return Response.json({ refunded: id }, { status: 201 });
});
