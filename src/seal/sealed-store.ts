import { keyOfSealedHash, type NewRecord, type OperationRecord, type StoredResponse } from "../core/record.js";
import type {
  CallerTransaction,
  Claimed,
  ClaimQuery,
  Clock,
  Inserted,
  InsertLimits,
  PageFilter,
  PruneQuery,
  Sealing,
  Store,
  StoreContext,
} from "../store.js";
import type { Cipher } from "./cipher.js";
import { Openable } from "./openable.js";
import { openHash, openRequest, openResponse, sealHash, sealParts, sealResponse } from "./parts.js";
import { reseal } from "./reseal.js";
import { Rounds } from "./rounds.js";

type Apply<After> = (record: OperationRecord) => After;

/**
 * A store as it is seen from within a seal: what goes in is sealed, what comes out is open. Functions that run inside of its
 * transactions get records as they stand there, sealed: none of them looks into a body.
 */
export function sealedStore(store: Store, cipher: Cipher): Store {
  const verbs: Partial<Store> = new SealedVerbs(store, cipher);
  // Whatever else the store can do, it goes on doing.
  return new Proxy(store, {
    get(target, name: keyof Store) {
      const own = name === "insertWithin" && !target.insertWithin ? undefined : verbs[name];
      const member: unknown = own ?? Reflect.get(target, name);
      return typeof member === "function" ? member.bind(own ? verbs : target) : member;
    },
  });
}

class SealedVerbs implements Partial<Store> {
  readonly sealing: Sealing;
  readonly #store: Store;
  readonly #cipher: Cipher;
  readonly #rounds = new Rounds();
  readonly #openable = new Openable((filter) => this.page(filter));
  #clock: Clock | undefined;
  /** By their sealed bytes: what was sealed here, or opened before, need not be opened again. */
  readonly #requests = new WeakMap<ArrayBuffer, OperationRecord["request"]>();
  readonly #responses = new WeakMap<ArrayBuffer, StoredResponse>();
  /** What stands in the store, by the record that was made of it. */
  readonly #stored = new WeakMap<OperationRecord, OperationRecord>();

  constructor(store: Store, cipher: Cipher) {
    this.#store = store;
    this.#cipher = cipher;
    this.sealing = {
      response: async (id, response) => {
        const sealed = await sealResponse(cipher, id, response);
        if (sealed.body) this.#responses.set(sealed.body, response);
        return sealed;
      },
      hash: (id, hash) => sealHash(cipher, id, hash),
      openable: async () => (this.#clock ? this.#openable.next(this.#clock) : []),
      reseal: () => reseal(store, cipher, (record) => this.#open(record)),
    };
  }

  /** The keys first: what is claimed has to be opened, or an attempt that was never made would be in doubt. */
  async open(context: StoreContext): Promise<void> {
    await this.#cipher.load(context);
    await this.#store.open(context);
    this.#clock = context.clock;
  }

  async insert(record: NewRecord, limits?: InsertLimits): Promise<Inserted> {
    const sealed = await this.#rounds.join(this.#seal(record));
    return this.#inserted(record, this.#store.insert(sealed, limits));
  }

  async insertWithin(tx: CallerTransaction, record: NewRecord, limits?: InsertLimits): Promise<Inserted> {
    const sealed = await this.#seal(record);
    return this.#inserted(record, this.#store.insertWithin?.(tx, sealed, limits) as Promise<Inserted>);
  }

  async claim(query: ClaimQuery, apply: Apply<OperationRecord>): Promise<Claimed> {
    const claimed = await this.#told(this.#store.claim(query, apply));
    return { ...claimed, records: await this.#openAll(claimed.records) };
  }

  async update(
    id: string,
    apply: Apply<OperationRecord | undefined>,
    base?: OperationRecord,
  ): Promise<OperationRecord | undefined> {
    const change: typeof apply = (record) => onlySealed(record, apply(record));
    return this.#openOne(this.#told(this.#store.update(id, change, base && this.#stored.get(base))));
  }

  get(id: string): Promise<OperationRecord | undefined> {
    return this.#openOne(this.#store.get(id));
  }

  find(owner: string, name: string, intent: string): Promise<OperationRecord | undefined> {
    return this.#openOne(this.#store.find(owner, name, intent));
  }

  head(owner: string, lane: string): Promise<OperationRecord | undefined> {
    return this.#openOne(this.#store.head(owner, lane));
  }

  async page(filter: PageFilter): Promise<readonly OperationRecord[]> {
    return this.#openAll(await this.#store.page(filter));
  }

  async prunable(query: PruneQuery): Promise<readonly OperationRecord[]> {
    return this.#openAll(await this.#store.prunable(query));
  }

  async #seal(record: NewRecord): Promise<NewRecord> {
    return { ...record, ...(await sealParts(this.#cipher, record)) };
  }

  async #inserted(given: NewRecord, inserting: Promise<Inserted>): Promise<Inserted> {
    const inserted = await this.#told(inserting);
    const { record, joined } = inserted;
    if (!joined && record.request.body) this.#requests.set(record.request.body, given.request);
    return { ...inserted, record: await this.#open(record) };
  }

  async #openOne(reading: Promise<OperationRecord | undefined>): Promise<OperationRecord | undefined> {
    const record = await reading;
    return record && this.#open(record);
  }

  #openAll(records: readonly OperationRecord[]): Promise<readonly OperationRecord[]> {
    return Promise.all(records.map((record) => this.#open(record)));
  }

  async #open(record: OperationRecord): Promise<OperationRecord> {
    const { id, request, response, hash } = record;
    const opened = {
      ...record,
      request: request.sealed ? await this.#openRequest(record) : request,
      response: response?.sealed ? await this.#openResponse(id, response) : response,
      hash: keyOfSealedHash(hash) === undefined ? hash : await openHash(this.#cipher, id, hash),
    };
    this.#stored.set(opened, record);
    return opened;
  }

  async #openRequest({ id, request }: OperationRecord): Promise<OperationRecord["request"]> {
    const known = request.body && this.#requests.get(request.body);
    if (known) return known;
    const opened = await openRequest(this.#cipher, id, request);
    if (request.body && !opened.sealed) this.#requests.set(request.body, opened);
    return opened;
  }

  async #openResponse(id: string, response: StoredResponse): Promise<StoredResponse> {
    const known = response.body && this.#responses.get(response.body);
    if (known) return known;
    const opened = await openResponse(this.#cipher, id, response);
    if (response.body && !opened.sealed) this.#responses.set(response.body, opened);
    return opened;
  }

  /** The record that an error brings along is for people to read. */
  async #told<T>(verb: Promise<T>): Promise<T> {
    try {
      return await verb;
    } catch (error) {
      const { record } = (error ?? {}) as { readonly record?: OperationRecord };
      if (record?.request) Object.assign(error as object, { record: await this.#open(record) });
      throw error;
    }
  }
}

/** What a change has made of a record, unless a body or an answer would get there in the clear. */
function onlySealed(before: OperationRecord, after: OperationRecord | undefined): OperationRecord | undefined {
  const request = after?.request;
  if (request?.body && request.body !== before.request.body && !request.sealed) throw inClear("a body", before);
  const response = after?.response;
  if (!response || response === before.response || response.sealed || response.pruned) return after;
  throw inClear("an answer", before);
}

function inClear(what: string, { id }: OperationRecord): Error {
  return new Error(`samekey: ${what} was not sealed before it was to be stored (${id})`);
}
