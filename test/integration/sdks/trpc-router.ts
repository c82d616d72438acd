import { initTRPC, TRPCError } from "@trpc/server";
import { fetchRequestHandler } from "@trpc/server/adapters/fetch";

interface Payment {
  readonly order: string;
  readonly amount: number;
}

const trpc = initTRPC.create();
const payment = (value: unknown): Payment => value as Payment;

/** A bank that speaks tRPC. */
export const router = trpc.router({
  balance: trpc.procedure.query(() => 100),
  pay: trpc.procedure.input(payment).mutation(({ input }) => {
    if (input.amount > 100) throw new TRPCError({ code: "PRECONDITION_FAILED", message: "no funds" });
    return { id: `p-${input.order}` };
  }),
});

export type Router = typeof router;

export const handle = (req: Request): Promise<Response> => fetchRequestHandler({ endpoint: "/trpc", req, router });
