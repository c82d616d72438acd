import { channel } from "node:diagnostics_channel";
import type { ObservedSdk, Telemetry } from "../client/telemetry.js";
import { type OperationRecord, sourceOf } from "../core/record.js";
import type { ChannelMessages, OperationMessage, SettledMessage } from "./channel-messages.js";

/** A channel whose messages are made for those who listen only. */
class Topic<Name extends keyof ChannelMessages> {
  readonly #channel;

  constructor(name: Name) {
    this.#channel = channel(name);
  }

  get isHeard(): boolean {
    return this.#channel.hasSubscribers;
  }

  publish(message: () => ChannelMessages[Name]): void {
    if (this.#channel.hasSubscribers) this.#channel.publish(message());
  }
}

const saved: Topic<"samekey:saved"> = new Topic("samekey:saved");
const started: Topic<"samekey:attempt:start"> = new Topic("samekey:attempt:start");
const ended: Topic<"samekey:attempt:end"> = new Topic("samekey:attempt:end");
const retried: Topic<"samekey:retry"> = new Topic("samekey:retry");
const blocked: Topic<"samekey:blocked"> = new Topic("samekey:blocked");
const settled: Topic<"samekey:settled"> = new Topic("samekey:settled");
const unresolved: Topic<"samekey:unresolved"> = new Topic("samekey:unresolved");

/** Publishes what an Sdk does on Node's `diagnostics_channel`. */
export const channels: Telemetry = {
  join(sdk) {
    sdk.on("saved", (record) => saved.publish(() => summary(sdk, record)));
    sdk.on("retry", (record) => retried.publish(() => ({ ...summary(sdk, record), delay: record.delay })));
    sdk.on("blocked", (record) => blocked.publish(() => ({ ...summary(sdk, record), blockedBy: record.blockedBy })));
    sdk.on("settled", (record) => settled.publish(() => settlement(sdk, record)));
    sdk.on("unresolved", (record) => unresolved.publish(() => settlement(sdk, record)));
    return {
      onAttempt({ record }) {
        started.publish(() => summary(sdk, record));
        if (!ended.isHeard) return undefined;
        return {
          end: ({ verdict, status, cause, ms, replayed }) =>
            ended.publish(() => ({ ...summary(sdk, record), verdict, status, cause, ms, replayed })),
        };
      },
    };
  },
};

/** What may be told of a record: nothing that is the caller's own, and nothing secret. */
function summary(sdk: ObservedSdk, record: OperationRecord): OperationMessage {
  const { id, name, state, attempts, request, createdAt } = record;
  const { origin, pathname } = new URL(request.url);
  const url = origin + pathname;
  return { sdk: sdk.name, id, operation: name, state, attempts, method: request.method, url, createdAt };
}

function settlement(sdk: ObservedSdk, record: OperationRecord): SettledMessage {
  const { code, response, settledAt, createdAt } = record;
  return {
    ...summary(sdk, record),
    code,
    status: response?.status,
    source: sourceOf(record),
    ms: (settledAt ?? createdAt) - createdAt,
  };
}
