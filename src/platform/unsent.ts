const beforeSending = new Set([
  ...["ENOTFOUND", "EAI_AGAIN", "EAI_NODATA", "EAI_NONAME", "ECONNREFUSED", "UND_ERR_CONNECT_TIMEOUT"],
  ...["ERR_TLS_CERT_ALTNAME_INVALID", "CERT_HAS_EXPIRED", "CERT_NOT_YET_VALID", "DEPTH_ZERO_SELF_SIGNED_CERT"],
  ...["SELF_SIGNED_CERT_IN_CHAIN", "UNABLE_TO_VERIFY_LEAF_SIGNATURE", "UNABLE_TO_GET_ISSUER_CERT_LOCALLY"],
]);

/** Chains of causes are short; one that leads back to itself proves nothing. */
const MAX_DEPTH = 8;

/**
 * Whether an error's code (Node's, found on the error or its cause) proves that no byte of the request was sent. Only the
 * platform's own `fetch` proves that: another may have sent it before the try that it tells of.
 */
export function provesUnsent(error: unknown, isCustom: boolean): boolean {
  if (isCustom) return false;
  try {
    return isBeforeSending(error, MAX_DEPTH);
  } catch {
    // Its members may be getters that throw.
    return false;
  }
}

function isBeforeSending(error: unknown, depth: number): boolean {
  if (typeof error !== "object" || error === null || depth === 0) return false;
  const { code, syscall, cause, errors } = error as {
    code?: unknown;
    syscall?: unknown;
    cause?: unknown;
    errors?: unknown;
  };
  if (Array.isArray(errors) && errors.length > 0) return errors.every((one) => isBeforeSending(one, depth - 1));
  if (typeof code === "string") return beforeSending.has(code) || syscall === "connect";
  return cause !== undefined && isBeforeSending(cause, depth - 1);
}
