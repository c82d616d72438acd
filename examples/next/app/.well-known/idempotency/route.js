import { contractFetch } from "samekey/server";
import { idempotency } from "../../../idempotency.js";

export const GET = contractFetch(idempotency);
