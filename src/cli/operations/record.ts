import type { OperationRecord } from "../../core/record.js";
import { MisuseError } from "../../errors.js";
import type { Store } from "../../store.js";

/** @throws MisuseError `unknown_operation` */
export async function recordOf(store: Pick<Store, "get">, id: string): Promise<OperationRecord> {
  const record = await store.get(id);
  if (record) return record;
  throw new MisuseError("unknown_operation", { detail: `nothing is recorded under the id ${JSON.stringify(id)}` });
}
