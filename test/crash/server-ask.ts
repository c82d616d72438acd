import { expect } from "vitest";
import { type Point, stillHeader, type Transfer } from "./server-told.js";

/** What became of one request. */
export interface Answer {
  /** 0: no whole answer came. */
  readonly status: number;
  readonly mark: string | undefined;
  readonly retryAfter: string | undefined;
  readonly body: string;
  /** The `error` member. */
  readonly error: string | undefined;
}

export interface AskOptions {
  /** Where it is to stand still. */
  readonly still?: Point | undefined;
  /** ms until the caller gives up. @defaultValue never */
  readonly timeout?: number | undefined;
  /** @defaultValue "/transfers" */
  readonly path?: string | undefined;
  readonly transfer?: Transfer | undefined;
}

const none: Answer = { status: 0, mark: undefined, retryAfter: undefined, body: "", error: undefined };

/** One request. A connection that is lost is an answer, too. */
export async function ask(url: string, key: string, options: AskOptions = {}): Promise<Answer> {
  const { still, timeout, path = "/transfers", transfer = { src: 1, dst: 2, amount: 5 } } = options;
  try {
    const response = await fetch(new URL(path, url), {
      method: "POST",
      headers: { "content-type": "application/json", "idempotency-key": key, ...(still && { [stillHeader]: still }) },
      body: JSON.stringify(transfer),
      ...(timeout !== undefined && { signal: AbortSignal.timeout(timeout) }),
    });
    const body = await response.text();
    return {
      status: response.status,
      mark: response.headers.get("idempotency-status") ?? undefined,
      retryAfter: response.headers.get("retry-after") ?? undefined,
      body,
      error: JSON.parse(body).error,
    };
  } catch {
    return none;
  }
}

/** Marked if and only if it is the key's own answer; whoever may come again is told so. */
export function honest({ status, mark, retryAfter, error, body }: Answer): void {
  if (status === 0) return;
  if (status === 201) expect(mark).toMatch(/^(executed|replayed)$/);
  else
    expect({ mark, retryAfter, error, body }).toEqual({
      mark: undefined,
      retryAfter: "1",
      error: expect.any(String),
      body,
    });
  expect([201, 409, 503]).toContain(status);
}
