import { type IncomingMessage, request as plain } from "node:http";
import { request as secure } from "node:https";
import { setTimeout } from "node:timers/promises";
import type { Observation, ProbeName } from "./observation.js";
import type { Plan, Probe } from "./plan.js";

/** The most requests of one run, whatever a plan says. */
export const MOST_REQUESTS = 25;
/** The most that is read of a body, in bytes. */
const MOST_BODY = 1024 * 1024;

/** The doctor's only way to the network. */
export class Network {
  readonly #timeout: number;
  readonly #origin: string;
  #sent = 0;

  /**
   * @param origin - the only one that is ever asked
   * @param timeout - of one request, to the last byte of its answer, in ms
   */
  constructor(origin: string, timeout: number) {
    this.#origin = origin;
    this.#timeout = timeout;
  }

  /** How many requests went out. */
  get sent(): number {
    return this.#sent;
  }

  /** Does what a plan asks for, and adds what comes of it to `seen`. */
  async carryOut(plan: Plan, seen: Map<ProbeName, readonly Observation[]>): Promise<void> {
    for (let step = plan.next(); !step.done; ) {
      const { probes, pause } = step.value;
      if (pause > 0) await setTimeout(pause);
      const came = await Promise.all(probes.map((probe) => this.#ask(probe)));
      for (const [index, { name }] of probes.entries()) {
        seen.set(name, [...(seen.get(name) ?? []), came[index] as Observation]);
      }
      step = plan.next(came);
    }
  }

  async #ask({ method, url, headers, body }: Probe): Promise<Observation> {
    if (url.origin !== this.#origin) throw new Error(`${url.origin} is not the origin that was asked about`);
    if (this.#sent === MOST_REQUESTS) throw new Error(`more than ${MOST_REQUESTS} requests`);
    this.#sent += 1;
    const signal = AbortSignal.timeout(this.#timeout);
    const isSecure = url.protocol === "https:";
    let isConnected = false;
    try {
      const answer = await new Promise<IncomingMessage>((resolve, reject) => {
        // A connection of its own for each: what a kept one does when it is closed (sending again) is not the server's doing.
        const length = /^(GET|OPTIONS)$/.test(method) ? {} : { "content-length": String(body?.length ?? 0) };
        const options = { method, agent: false, signal, headers: { ...length, ...headers } };
        const sent = (isSecure ? secure : plain)(url, options);
        sent.on("socket", (socket) => {
          socket.once(isSecure ? "secureConnect" : "connect", () => {
            isConnected = true;
          });
        });
        sent.on("response", resolve).on("error", reject);
        sent.end(body);
      });
      const lines = answer.headersDistinct;
      return {
        kind: "answered",
        status: answer.statusCode ?? 0,
        headers: { get: (name) => lines[name.toLowerCase()]?.join(", ") ?? null },
        ...(await bodyOf(answer)),
      };
    } catch (error) {
      const cause = signal.aborted ? `no answer within ${this.#timeout} ms` : causeOf(error);
      return { kind: "failed", how: isConnected ? "unanswered" : "unsent", cause };
    }
  }
}

async function bodyOf(answer: IncomingMessage): Promise<{ readonly body: Uint8Array; readonly whole: boolean }> {
  const parts: Buffer[] = [];
  let length = 0;
  // Leaving the loop closes the connection.
  for await (const part of answer as AsyncIterable<Buffer>) {
    parts.push(part);
    length += part.length;
    if (length > MOST_BODY) break;
  }
  return { body: Buffer.concat(parts).subarray(0, MOST_BODY), whole: length <= MOST_BODY };
}

/** The code: a message may hold what was sent. */
function causeOf(error: unknown): string {
  const { code, errors } = error as { readonly code?: unknown; readonly errors?: readonly unknown[] };
  const first = typeof code === "string" ? code : (errors?.[0] as { readonly code?: unknown } | undefined)?.code;
  return typeof first === "string" ? first : "the connection failed";
}
