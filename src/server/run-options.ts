import { MisuseError } from "../errors.js";
import type { Answer } from "./answer.js";
import type { KeySource } from "./derive.js";
import type { Execution } from "./handler.js";

/** What identifies one operation to the server. */
export interface RunRequest {
  /** A stable account id, never a credential: 1 to 255 characters. Authenticate before the claim. */
  readonly tenant: string;
  /** The kind of operation, an explicit constant: 1 to 255 characters. Renaming it makes its keys unknown. */
  readonly scope: string;
  /** The `Idempotency-Key` header as it was received: a value, or the list of its lines. */
  readonly key: string | readonly string[] | null | undefined;
  /** See {@link fingerprint}. */
  readonly fingerprint: Uint8Array;
}

/** Seals what is stored of a body, for answers that show a secret once. Bind the sealed bytes to the key's source. */
export interface Seal {
  /** Runs inside the transaction, within the handler's deadline. What it throws undoes everything. */
  seal(body: Uint8Array, source: KeySource): Promise<Uint8Array> | Uint8Array;
  /** Must open what it sealed for as long as keys live. What it throws is answered 500; nothing runs again. */
  open(sealed: Uint8Array, source: KeySource): Promise<Uint8Array> | Uint8Array;
}

/** Reads answers from where they were stored before; see {@link RunOptions.fallback}. */
export type Fallback<Tx> = (
  execution: Pick<Execution<Tx>, "tenant" | "scope" | "key" | "tx" | "signal">,
) => Promise<Answer | undefined> | Answer | undefined;

/** How one kind of operation is run. */
export interface RunOptions<Tx = unknown> {
  /**
   * With `false`, a request without a key runs all the same: in one transaction, unprotected, its answer unmarked and
   * not stored. For rolling out. A bad key is 400 either way.
   *
   * @defaultValue true
   */
  readonly required?: boolean | undefined;
  /**
   * Whether the handler may be called again for the same request, everything undone, when its transaction loses against
   * another one. With `false` that is answered 503 at once.
   *
   * @defaultValue true
   */
  readonly rerun?: boolean | undefined;
  /** Seals stored bodies. @defaultValue bodies are stored as they are */
  readonly seal?: Seal | undefined;
  /**
   * Asked for an older answer where a key is new here, before the handler and in its transaction. What it gives is
   * replayed, not stored; undefined lets the handler run. For moving in from another table: keep it for one window.
   */
  readonly fallback?: Fallback<Tx> | undefined;
}

/** @throws MisuseError `bad_option` */
export function checkRequest({ tenant, scope, fingerprint }: RunRequest): void {
  checkName(tenant, "tenant");
  checkName(scope, "scope");
  if (!(fingerprint instanceof Uint8Array)) throw bad("`fingerprint` must be bytes, as `fingerprint()` gives them");
}

/** @throws MisuseError `bad_option` */
export function checkRunOptions<Tx>({ required, rerun, seal, fallback }: RunOptions<Tx>): void {
  for (const [name, value] of Object.entries({ required, rerun })) {
    if (value !== undefined && typeof value !== "boolean") throw bad(`\`${name}\` must be true or false`);
  }
  if (fallback !== undefined && typeof fallback !== "function") throw bad("`fallback` must be a function");
  if (seal === undefined) return;
  for (const name of ["seal", "open"] as const) {
    if (typeof seal?.[name] !== "function") throw bad(`\`seal.${name}\` must be a function`);
  }
}

// Postgres can store neither NUL nor half a surrogate pair, and an index entry holds some 2,700 bytes.
function checkName(value: unknown, option: string): void {
  if (typeof value !== "string" || value.trim() === "") throw bad(`\`${option}\` must be a string that is not blank`);
  if (value.length > 255) throw bad(`\`${option}\` must have at most 255 characters`);
  if (/[\0\p{Surrogate}]/u.test(value)) throw bad(`\`${option}\` must hold neither NUL nor a lone surrogate`);
}

function bad(detail: string): MisuseError {
  return new MisuseError("bad_option", { detail });
}
