import { renderKey } from "../../core/key.js";
import { parseRetryAfter } from "../../core/retry-after.js";
import { contractPath } from "../../server/contract.js";
import {
  type Answered,
  isAnswered,
  isMarked,
  isMarkedReplay,
  isSame,
  isSuccess,
  type Observation,
  type ProbeName,
} from "./observation.js";
import { askedHeaders, type Target } from "./target.js";

/** One request to be made. */
export interface Probe {
  readonly name: ProbeName;
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | undefined;
}

/** Requests to be made at once, after a pause in ms. */
export interface Step {
  readonly probes: readonly Probe[];
  readonly pause: number;
}

/** Decides from what came what is asked next. Pure: it sends nothing. */
export type Plan = Generator<Step, void, readonly Observation[]>;

/** How many requests go out at once under one key. */
export const BURST = 5;
/** How often a key that is in progress is asked again. */
const PATIENCE = 3;
/** The most that the requests of {@link writingPlan} can be. */
export const MOST_WRITES: number = 2 + PATIENCE + 1 + BURST + PATIENCE + 3;

/** What changes nothing at the endpoint: what it publishes, and what it lets browsers do. */
export function* readingPlan(target: Target): Plan {
  const { url, method, origin } = target;
  const none = { url, headers: {}, body: undefined };
  yield once({ ...none, name: "published", method: "GET", url: new URL(contractPath, url.origin) });
  if (origin === undefined || origin === url.origin) return;
  const asked = {
    origin,
    "access-control-request-method": method,
    "access-control-request-headers": askedHeaders(target).join(","),
  };
  yield once({ ...none, name: "preflight", method: "OPTIONS", headers: asked });
}

/**
 * What really does what the request says, as often as the server lets it. It ends where more would do harm or tell
 * nothing: no answer, a refusal in front of the key, a repeat that was done again.
 */
export function* writingPlan(target: Target, [key, other]: readonly [string, string], now: () => number): Plan {
  const { url, method, headers: own, origin, body, otherBody, keyHeader } = target;
  const common = { ...own, ...(origin === undefined ? {} : { origin }) };
  const probe = (name: ProbeName, value: string | undefined, bytes = body): Probe => {
    const headers = value === undefined ? common : { ...common, [keyHeader]: value };
    return { name, method, url, headers, body: bytes };
  };

  let quoted = false;
  let [first] = yield once(probe("first", key));
  if (isAnswered(first) && first.status === 400 && !isMarked(first)) {
    quoted = true;
    [first] = yield once(probe("quoted-first", renderKey(key, true)));
  }
  if (!isAnswered(first) || !(isSuccess(first) || isMarked(first))) return;

  const repeat = yield* asking(probe("repeat", renderKey(key, quoted)), now);
  if (!isAnswered(repeat) || !(isMarkedReplay(repeat) || isSame(first, repeat))) return;

  const [bare] = yield once(probe("without-key", undefined));
  if (!isAnswered(bare)) return;

  const burst = yield {
    probes: Array.from({ length: BURST }, () => probe("burst", renderKey(other, quoted))),
    pause: 0,
  };
  if (!burst.every(isAnswered)) return;
  const after = yield* asking(probe("after-burst", renderKey(other, quoted)), now);
  if (!isAnswered(after)) return;

  const [later] = yield once(probe("later", renderKey(key, quoted)));
  if (!isAnswered(later)) return;
  const [form] = yield once(probe("other-form", renderKey(key, !quoted)));
  if (!isAnswered(form) || otherBody === undefined) return;
  yield once(probe("other-body", renderKey(key, quoted), otherBody));
}

const once = (probe: Probe, pause = 0): Step => ({ probes: [probe], pause });

/** Asks again, a few times, while the key is in progress. */
function* asking(probe: Probe, now: () => number): Generator<Step, Observation | undefined, readonly Observation[]> {
  let answer: Observation | undefined;
  for (let asked = 0, pause = 0; asked < PATIENCE; asked += 1) {
    [answer] = yield once(probe, pause);
    if (!isAnswered(answer) || answer.status !== 409 || isMarked(answer)) return answer;
    pause = waitOf(answer, now());
  }
  return answer;
}

/** As the server asks, but neither at once nor for long. */
const waitOf = ({ headers }: Answered, now: number): number =>
  Math.min(Math.max(parseRetryAfter(headers, now) ?? 500, 200), 3000);
