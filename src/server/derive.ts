import { createHash } from "node:crypto";

/** Whose key a derived key comes from. */
export interface KeySource {
  readonly tenant: string;
  readonly scope: string;
  /** Unquoted. */
  readonly key: string;
}

/**
 * The key for a call that an operation makes to another system: the same whenever the operation is repeated, and another
 * one for any other tenant, scope, key or step. Pass it on as that system's idempotency key.
 *
 * @param step - names the call within the operation, a constant such as `"charge"`
 * @returns a UUID of version 8 (RFC 9562) made of the SHA-256 of the four
 */
export function derive({ tenant, scope, key }: KeySource, step: string): string {
  const bytes = createHash("sha256")
    .update(JSON.stringify([tenant, scope, key, step]))
    .digest()
    .subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
