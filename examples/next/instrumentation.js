/** Next.js calls this once, before the first request. */
export async function register() {
  if (process.env.NEXT_RUNTIME !== "nodejs") return;
  const { idempotency } = await import("./idempotency.js");
  await idempotency.migrate();
}
