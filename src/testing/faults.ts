import { type Duration, toMs } from "../core/durations.js";
import type { Clock } from "../store.js";
import { brokenStream, coded, networkError, paddedStream } from "./broken.js";
import type { MockRequest } from "./mock-request.js";
import { problemResponse } from "./problem-response.js";

/** What a {@link Fault} has to work with. */
export interface Exchange {
  readonly request: MockRequest;
  readonly clock: Clock;
  /** Aborts when the client no longer waits. */
  readonly signal: AbortSignal;
}

/**
 * Something that goes wrong between the client and the server: it stands around `deliver`, which hands the request to
 * the server (as often as it is called) and answers with the server's response.
 */
export interface Fault {
  readonly name: string;
  /** How many requests it meets. */
  readonly times: number;
  apply(exchange: Exchange, deliver: () => Promise<Response>): Promise<Response>;
}

/** Options of every fault. */
export interface FaultOptions {
  /** How many requests it meets; `Infinity` until `reset()` or `calm()`. @defaultValue 1 */
  readonly times?: number | undefined;
}

function fault(name: string, options: FaultOptions | undefined, apply: Fault["apply"]): Fault {
  return { name, times: options?.times ?? 1, apply };
}

/** Lose one leg of the exchange. The client sees the same in both cases: `TypeError: Failed to fetch`. */
export const lose: {
  /** The server never sees the request. */
  request(options?: FaultOptions): Fault;
  /** The server does what it was asked to; the client never hears of it. */
  response(options?: FaultOptions): Fault;
} = {
  request: (options) =>
    fault("lose.request", options, async () => {
      throw networkError();
    }),
  response: (options) =>
    fault("lose.response", options, async (_, deliver) => {
      await deliver();
      throw networkError();
    }),
};

/** Break the response's body: headers and half of the bytes arrive. */
export const cut: {
  /** Then the connection breaks. */
  body(
    options?: FaultOptions & {
      /** What is there looks whole, as where a body ends with its connection: nothing throws. @defaultValue false */
      readonly unseen?: boolean | undefined;
    },
  ): Fault;
} = {
  body: (options) =>
    fault("cut.body", options, async (_, deliver) => {
      const end = async () => {
        if (!options?.unseen)
          throw new TypeError("terminated", { cause: coded("other side closed", "UND_ERR_SOCKET") });
      };
      return brokenStream(await deliver(), end);
    }),
};

/** Headers and half of the body arrive, and then nothing more until the client gives up. */
export function stall(options?: FaultOptions): Fault {
  return fault("stall", options, async ({ signal }, deliver) => {
    const end = () =>
      new Promise<never>((_, reject) => {
        if (signal.aborted) reject(signal.reason);
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      });
    return brokenStream(await deliver(), end);
  });
}

/** The answer goes on for longer than it should: spaces follow its body until it has so many bytes, or for ever (`Infinity`). */
export function oversize(bytes: number, options?: FaultOptions): Fault {
  return fault("oversize", options, async (_, deliver) => paddedStream(await deliver(), bytes));
}

/** Takes its time. A client that gives up in the meantime is not kept. */
export function delay(
  duration: Duration,
  options?: FaultOptions & {
    /**
     * `response`: the server acts at once and its answer is late. `request`: the request is late, and never arrives
     * when the client gives up before. @defaultValue "response"
     */
    readonly leg?: "request" | "response" | undefined;
  },
): Fault {
  const ms = toMs(duration, "delay");
  return fault("delay", options, async ({ clock, signal }, deliver) => {
    if (options?.leg === "request") {
      await clock.sleep(ms, signal);
      return deliver();
    }
    const response = await deliver();
    await clock.sleep(ms, signal);
    return response;
  });
}

/** The client sees the connection break at once; the request still arrives, this much later. */
export function late(duration: Duration, options?: FaultOptions): Fault {
  const ms = toMs(duration, "late");
  return fault("late", options, async ({ clock }, deliver) => {
    clock.sleep(ms).then(deliver).catch(ignore);
    throw networkError();
  });
}

/** The request arrives twice, as proxies and browsers do on a broken connection; the client gets the twin's answer. */
export function duplicate(
  options?: FaultOptions & {
    /** How long after the first copy the twin arrives. @defaultValue 5 */
    readonly after?: Duration | undefined;
  },
): Fault {
  const ms = toMs(options?.after ?? 5, "after");
  return fault("duplicate", options, async ({ clock }, deliver) => {
    deliver().catch(ignore);
    await clock.sleep(ms);
    return deliver();
  });
}

/** No connection comes about: provably not sent, by the codes that Node gives as the error's `cause.code`. */
export function unreachable(
  options?: FaultOptions & {
    /** @defaultValue "ECONNREFUSED" */
    readonly code?: "ECONNREFUSED" | "ENOTFOUND" | "EAI_AGAIN" | undefined;
  },
): Fault {
  return fault("unreachable", options, async () => {
    throw networkError(options?.code ?? "ECONNREFUSED");
  });
}

/** 409 `in_progress`, as if another copy of the request were being processed; `status(409)` is one without a reason. */
export function conflict(
  options?: FaultOptions & {
    /** In seconds, or a date; `null` for none. @defaultValue 1 */
    readonly retryAfter?: number | string | null | undefined;
  },
): Fault {
  return fault("conflict", options, async () => {
    const response = problemResponse("in_progress");
    if (options?.retryAfter === null) response.headers.delete("retry-after");
    else if (options?.retryAfter !== undefined) response.headers.set("retry-after", String(options.retryAfter));
    return response;
  });
}

/** 422, as if the key had been used with another request. */
export function unprocessable(options?: FaultOptions): Fault {
  return fault("unprocessable", options, async () => problemResponse("idempotency_key_reused_with_different_body"));
}

/** 401, from in front of the key: a sign-in is wanted. */
export function unauthorized(options?: FaultOptions): Fault {
  return fault("unauthorized", options, async () => {
    const response = problemResponse("unauthenticated");
    response.headers.set("www-authenticate", "Bearer");
    return response;
  });
}

/** An answer of this status from something in front of the server. */
export function status(
  code: number,
  options?: FaultOptions & {
    readonly headers?: Readonly<Record<string, string>> | undefined;
    /** @defaultValue none */
    readonly body?: string | undefined;
    /** Whether the server saw the request nevertheless, as behind a gateway that lost patience. @defaultValue false */
    readonly applied?: boolean | undefined;
  },
): Fault {
  return fault(`status ${code}`, options, async (_, deliver) => {
    if (options?.applied) await deliver();
    return new Response(options?.body ?? null, { status: code, headers: options?.headers ?? {} });
  });
}

/** A redirect. */
export function redirect(
  to: string,
  options?: FaultOptions & {
    /** @defaultValue 307 */
    readonly status?: 301 | 302 | 303 | 307 | 308 | undefined;
  },
): Fault {
  return status(options?.status ?? 307, { times: options?.times, headers: { location: to } });
}

/** 200 with a page of HTML, as captive portals answer to everything. */
export function captivePortal(options?: FaultOptions): Fault {
  const headers = { "content-type": "text/html; charset=utf-8" };
  return status(200, { times: options?.times, headers, body: "<!doctype html><title>Sign in to this network</title>" });
}

/**
 * A response that a browser does not let the page look into. Works with `server.fetch` only: msw cannot give one.
 */
export function opaque(
  options?: FaultOptions & {
    /** @defaultValue "opaque" */
    readonly type?: "opaque" | "opaqueredirect" | undefined;
  },
): Fault {
  const hidden = { type: { value: options?.type ?? "opaque" }, status: { value: 0 }, ok: { value: false } };
  return fault("opaque", options, async (_, deliver) => {
    await deliver();
    return Object.defineProperties(new Response(null), hidden);
  });
}

function ignore(): void {}
