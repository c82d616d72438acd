import type { OperationHandle } from "../../../src/client/handle.js";
import type { OperationRecord, State } from "../../../src/core/record.js";
import { SamekeyError } from "../../../src/errors.js";
import type { Act, Action, Decide, Operate } from "../program.js";
import type { Client } from "./client.js";
import type { Disk } from "./disk.js";
import { recordsOf } from "./disk.js";
import type { Server } from "./server.js";

/** A call that has not come to anything yet. */
export interface OpenCall {
  readonly n: number;
  readonly action: Action;
  readonly client: Client;
}

/** What users call, and what they are told. */
export class User {
  readonly #disk: Disk;
  readonly #server: Server;
  readonly #open = new Set<OpenCall>();
  /** What an operation is called in the program, by its id: the body may be dropped. */
  readonly #refs = new Map<string, string>();

  constructor(disk: Disk, server: Server) {
    this.#disk = disk;
    this.#server = server;
  }

  /** Calls of clients that still live. */
  get open(): readonly OpenCall[] {
    return [...this.#open].filter(({ client }) => client.alive);
  }

  /** Makes a call; resolves to nothing when it has come to something. */
  perform(n: number, action: Action, client: Client): void {
    client.tell({ what: "action", n, action });
    const call: OpenCall = { n, action, client };
    this.#open.add(call);
    this.#call(action, client).then(
      (value) => this.#told(call, outcomeOf(value), idOf(value), stateOf(Object(value).error)),
      (error: unknown) =>
        this.#told(call, nameOf(error), error instanceof SamekeyError ? error.id : undefined, stateOf(error)),
    );
  }

  #told(call: OpenCall, answer: string, id: string | undefined, state: State | undefined): void {
    if (!this.#open.delete(call) || !call.client.alive) return;
    const { n, action, client } = call;
    const record = id === undefined ? undefined : this.#disk.committed.get(id);
    const durable = id === undefined ? undefined : this.#disk.synced.get(id);
    client.tell({ what: "told", n, action, answer, id, state, record, durable });
  }

  async #call(action: Operate | Decide | Act, client: Client): Promise<unknown> {
    const { sdk } = client;
    switch (action.do) {
      case "operate":
        return this.#operate(action, client);
      case "start":
        client.acts();
        return sdk.start();
      case "stop":
        return sdk.stop();
      case "resume":
        client.acts();
        if (action.everyone) client.grant("*");
        return sdk.resume({ wait: action.wait, owner: action.everyone ? "*" : undefined });
      case "signOut": {
        const left = sdk.signOut({ purge: action.purge });
        client.signsOut();
        return left.finally(() => client.signIn(action.next));
      }
      case "purge":
        return sdk.purge(action.owner);
      case "cancel":
      case "discard":
      case "retry":
      case "reconcile":
      case "attach":
      case "adopt":
        return this.#decide(action, client);
      default:
        return undefined;
    }
  }

  #operate(action: Operate, client: Client): Promise<unknown> {
    const { name, verb, ref, amount, wait, abort, ...call } = action;
    if (call.owner === undefined) client.acts();
    else client.grant(call.owner);
    const { intent, lane, deadline, owner } = call;
    const key = call.key && `${call.key}-${owner ?? client.seat.owner}`;
    const id = call.id && `${call.id}-${owner ?? client.seat.owner}`;
    // Of an operation by any name the types say that its intent is required.
    const options = { intent: intent as string, key, id, lane, deadline, owner };
    const handle: OperationHandle = client.sdk.operation(name, { ref, amount }, options);
    if (verb === "save") return handle.save();
    const waiting = new AbortController();
    if (abort !== undefined) void client.after(abort, () => waiting.abort(new Error("the waiter has left")));
    return handle[verb]({ wait, signal: waiting.signal });
  }

  async #decide({ do: verb, ref, owner }: Decide, client: Client): Promise<unknown> {
    const record = this.#recordOf(ref);
    if (!record) return undefined;
    const { sdk } = client;
    const { id } = record;
    switch (verb) {
      case "discard":
        return sdk.discard(id, { reason: "the user said so" });
      case "reconcile":
        return sdk.reconcile(id, this.#server.effectsOf(record.key) > 0 ? "applied" : "not-applied");
      case "adopt":
        return sdk.adopt(id, owner ?? "alice");
      case "attach":
        client.acts();
        return sdk.attach(id).outcome({ wait: 30_000 });
      case "cancel":
      case "retry":
        return sdk[verb](id);
    }
  }

  #recordOf(ref: string): OperationRecord | undefined {
    return recordsOf(this.#disk.committed).findLast((record) => this.refOf(record) === ref);
  }

  refOf({ id, request }: OperationRecord): string {
    const known = this.#refs.get(id);
    if (known !== undefined) return known;
    const { ref } = JSON.parse(new TextDecoder().decode(request.body)) as { ref: string };
    this.#refs.set(id, ref);
    return ref;
  }
}

function nameOf(error: unknown): string {
  return error instanceof SamekeyError ? `${error.name}/${error.code}` : `${(error as Error).message}`;
}

/** `outcome()` never throws. */
function outcomeOf(value: unknown): string {
  const { error } = Object(value) as { error?: unknown };
  return error === undefined ? "ok" : nameOf(error);
}

function stateOf(error: unknown): State | undefined {
  return error instanceof SamekeyError ? (error.record as OperationRecord | undefined)?.state : undefined;
}

function idOf(value: unknown): string | undefined {
  const { id, result, error } = Object(value) as { id?: string; result?: { id: string }; error?: { id?: string } };
  return id ?? result?.id ?? error?.id;
}
