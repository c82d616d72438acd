import { createHash } from "node:crypto";

/** The parts of a request that a key is bound to, exactly as they were received. */
export interface RequestParts {
  readonly method: string;
  /** The request target: path and query, not decoded. */
  readonly target: string;
  readonly contentType?: string | null | undefined;
  /** The raw body, before any parser or decoder saw it. */
  readonly body?: Uint8Array | string | null | undefined;
}

/**
 * SHA-256 over method, path, query, content type and raw body. Nothing is brought into a canonical form: that would
 * make requests equal that are not (9007199254740993 and 9007199254740992, for one).
 */
export function fingerprint(request: RequestParts): Uint8Array {
  const mark = request.target.indexOf("?");
  const path = mark < 0 ? request.target : request.target.slice(0, mark);
  const query = mark < 0 ? "" : request.target.slice(mark);
  // JSON keeps the parts apart, whatever characters they hold.
  const head = JSON.stringify([request.method.toUpperCase(), path, query, request.contentType ?? ""]);
  return createHash("sha256")
    .update(head)
    .update("\n")
    .update(request.body ?? "")
    .digest();
}
