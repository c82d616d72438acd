import { idempotentFetch } from "samekey/server";
import { idempotency } from "../../idempotency.js";

export const POST = idempotentFetch(idempotency, { scope: "transfers" }, async (request, { tx, key }) => {
  const { amount } = await request.json();
  if (!(amount > 0)) return Response.json({ error: "amount" }, { status: 400 });
  await tx.query("INSERT INTO effects (key) VALUES ($1)", [key]);
  return Response.json({ amount }, { status: 201, headers: { location: `/transfers/${key}` } });
});
